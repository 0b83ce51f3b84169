"""The port `Broker` in memory."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import NoReturn

from toolmesh_broker.errors import BrokerTimeoutError, NoRespondersError, PayloadTooLargeError
from toolmesh_broker.memory.bucket import Bucket
from toolmesh_broker.memory.hub import MemoryHub
from toolmesh_broker.memory.payload_store import MemoryPayloadStore
from toolmesh_broker.memory.queue import MemoryIntake
from toolmesh_broker.ports import Handler, Message, OutgoingInvocation, PublishReceipt, StoredMessage
from toolmesh_broker.ttl import seconds_until, whole_seconds
from toolmesh_contracts.headers import MESSAGE_ID, MESSAGE_TTL
from toolmesh_contracts.subjects import Subjects

__all__ = ["MemoryBroker"]


class MemoryBroker:
    """One identity's connection to a hub; always connected."""

    connected = True

    def __init__(self, hub: MemoryHub, identity: str) -> None:
        self._hub = hub
        self.identity = identity
        self.subjects = Subjects(hub.namespace)
        self.max_payload = hub.max_payload

    async def publish_invocation(self, call: OutgoingInvocation) -> PublishReceipt:
        """Queue a call until its deadline."""
        left_s = seconds_until(call.deadline_ms)
        if left_s <= 0:
            raise BrokerTimeoutError(f"the deadline of call {call.invocation} passed before it was queued")

        ttl_s = whole_seconds(left_s)
        headers = {**call.headers, MESSAGE_ID: call.invocation, MESSAGE_TTL: str(ttl_s)}
        self._check_size(call.subject, call.body, headers)
        stream = self.subjects.invoke_stream(call.pool)
        if (earlier := self._hub.duplicate_of(stream, call.invocation)) is not None:
            return earlier
        receipt = self._hub.queue(stream).put(call.subject, headers, call.body, ttl_s)
        return self._hub.remember(stream, call.invocation, receipt)

    async def delete_invocation(self, receipt: PublishReceipt) -> bool:
        """Withdraw a queued call."""
        return self._hub.queue(receipt.stream).delete(receipt.sequence)

    async def append(
        self,
        stream: str,
        subject: str,
        body: bytes,
        *,
        message_id: str,
        headers: Mapping[str, str] | None = None,
        timeout_s: float = 10.0,
    ) -> PublishReceipt:
        """Store a message in a stream."""
        complete = {**(headers or {}), MESSAGE_ID: message_id}
        self._check_size(subject, body, complete)
        return self._hub.append(stream, message_id, StoredMessage(subject, 0, body, complete))

    async def next_stored(self, stream: str, pattern: str, *, after: int = 0) -> StoredMessage | None:
        """Return the next message that matches."""
        return self._hub.next_stored(stream, pattern, after)

    async def delete_stored(self, stream: str, sequence: int) -> bool:
        """Remove a message."""
        return self._hub.delete_stored(stream, sequence)

    @contextlib.asynccontextmanager
    async def consume(self, pool: str, credit: Callable[[], int]) -> AsyncIterator[MemoryIntake]:
        """Take calls from a pool's queue."""
        queue = self._hub.queue(self.subjects.invoke_stream(pool))
        intake = MemoryIntake(queue, credit)
        queue.attach(intake)
        try:
            yield intake
        finally:
            queue.detach(intake)

    def keyvalue(self, bucket: str) -> Bucket:
        """Return a bucket by its name from Subjects."""
        return self._hub.bucket(bucket)

    def payloads(self, pool: str) -> MemoryPayloadStore:
        """Return a pool's payload store."""
        return MemoryPayloadStore(self._hub, self.subjects.payload_bucket(pool))

    async def publish(self, subject: str, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        """Send a message that may be lost."""
        self._check_size(subject, body, headers or {})
        self._hub.switchboard.send(Message(subject, body, dict(headers or {})))

    async def request(
        self, subject: str, body: bytes, timeout_s: float, headers: Mapping[str, str] | None = None
    ) -> Message:
        """Ask and wait for one answer."""
        self._check_size(subject, body, headers or {})
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

        async def respond(body: bytes) -> None:
            if not answer.done():
                answer.set_result(body)

        if not self._hub.switchboard.send(Message(subject, body, dict(headers or {}), respond)):
            raise NoRespondersError(subject)
        try:
            async with asyncio.timeout(timeout_s):
                return Message(subject, await answer)
        except TimeoutError:
            raise BrokerTimeoutError(f"no answer on {subject} within {timeout_s:g} s") from None

    def subscribe(
        self, subject: str, handler: Handler, *, queue: str = "", concurrency: int = 256
    ) -> AbstractAsyncContextManager[None]:
        """Run `handler` on every message."""
        return self._hub.switchboard.listening(subject, handler, queue, concurrency)

    def on_reconnect(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Do nothing: memory is never disconnected."""
        return lambda: None

    def on_disconnect(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Do nothing: memory is never disconnected."""
        return lambda: None

    async def lost(self) -> NoReturn:
        """Wait for ever: memory is never lost."""
        while True:
            await asyncio.Event().wait()

    def _check_size(self, subject: str, body: bytes, headers: Mapping[str, str]) -> None:
        size = len(body) + sum(len(name) + len(value) + 4 for name, value in headers.items())
        if size > self.max_payload:
            raise PayloadTooLargeError(size, self.max_payload, subject)
