"""What all in-memory connections share: buckets, queues, payloads and subscriptions of one event loop."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace

from toolmesh_broker.memory.bucket import Bucket
from toolmesh_broker.memory.patterns import matches
from toolmesh_broker.memory.queue import PoolQueue
from toolmesh_broker.memory.switchboard import Switchboard
from toolmesh_broker.memory.timers import Timers
from toolmesh_broker.ports import PublishReceipt, StoredMessage

__all__ = ["MemoryHub", "StoredPayload"]


@dataclass(slots=True)
class StoredPayload:
    """A payload's bytes and when they vanish."""

    content: bytes
    expires_at: float


@dataclass(slots=True)
class MemoryHub:
    """The in-memory counterpart of a server."""

    namespace: str
    ack_wait_s: float = 6.0
    duplicate_window_s: float = 120.0
    max_queued_per_tenant: int = 10_000
    max_payload: int = 1024 * 1024
    timers: Timers = field(default_factory=Timers)
    switchboard: Switchboard = field(default_factory=Switchboard)
    streams: dict[str, list[StoredMessage | None]] = field(default_factory=dict)
    payloads: dict[tuple[str, str], StoredPayload] = field(default_factory=dict)
    _message_ids: dict[tuple[str, str], PublishReceipt] = field(default_factory=dict)
    _buckets: dict[str, Bucket] = field(default_factory=dict)
    _queues: dict[str, PoolQueue] = field(default_factory=dict)

    @classmethod
    @contextlib.asynccontextmanager
    async def running(
        cls,
        namespace: str,
        *,
        ack_wait_s: float = 6.0,
        duplicate_window_s: float = 120.0,
        max_queued_per_tenant: int = 10_000,
    ) -> AsyncIterator["MemoryHub"]:
        """Open a hub; its timers end with the block."""
        hub = cls(namespace, ack_wait_s, duplicate_window_s, max_queued_per_tenant)
        try:
            yield hub
        finally:
            hub.timers.cancel_all()

    def bucket(self, name: str) -> Bucket:
        """Return a key-value bucket, made on first use."""
        return self._buckets.setdefault(name, Bucket(self.timers))

    def queue(self, stream: str) -> PoolQueue:
        """Return a pool's queue, made on first use."""
        if stream not in self._queues:
            self._queues[stream] = PoolQueue(stream, self.timers, self.ack_wait_s, self.max_queued_per_tenant)
        return self._queues[stream]

    def append(self, stream: str, message_id: str, message: StoredMessage) -> PublishReceipt:
        """Store a message once per id and window."""
        if (earlier := self.duplicate_of(stream, message_id)) is not None:
            return earlier
        messages = self.streams.setdefault(stream, [])
        messages.append(replace(message, sequence=len(messages) + 1))
        return self.remember(stream, message_id, PublishReceipt(stream, len(messages)))

    def next_stored(self, stream: str, pattern: str, after: int) -> StoredMessage | None:
        """Return the first message behind a sequence that matches."""
        later = self.streams.get(stream, [])[after:]
        return next((one for one in later if one is not None and matches(pattern, one.subject)), None)

    def delete_stored(self, stream: str, sequence: int) -> bool:
        """Remove a message, and keep its place."""
        messages = self.streams.get(stream, [])
        if not 0 < sequence <= len(messages) or messages[sequence - 1] is None:
            return False
        messages[sequence - 1] = None
        return True

    def duplicate_of(self, stream: str, message_id: str) -> PublishReceipt | None:
        """Return the receipt of an earlier publish with this id, marked as a duplicate."""
        earlier = self._message_ids.get((stream, message_id))
        return PublishReceipt(earlier.stream, earlier.sequence, duplicate=True) if earlier is not None else None

    def remember(self, stream: str, message_id: str, receipt: PublishReceipt) -> PublishReceipt:
        """Keep an id for the duplicate window."""
        key = (stream, message_id)
        self._message_ids[key] = receipt
        self.timers.after(self.duplicate_window_s, lambda: self._message_ids.pop(key, None))
        return receipt

    def now(self) -> float:
        """Return the clock that expiries are measured by, in seconds."""
        return asyncio.get_running_loop().time()
