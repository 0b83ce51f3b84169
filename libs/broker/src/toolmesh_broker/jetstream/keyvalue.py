"""Key-value buckets as JetStream streams: compare-and-set and TTL on every write (ADR-8, ADR-43)."""

import contextlib
from collections.abc import AsyncIterator
from typing import Final

from toolmesh_broker.errors import BrokerRefusedError, KeyExistsError, RevisionConflictError
from toolmesh_broker.jetstream.api import fresh_id, publish_acknowledged
from toolmesh_broker.jetstream.connection import Connection
from toolmesh_broker.jetstream.pull_timing import PullTiming
from toolmesh_broker.jetstream.requests import Answer
from toolmesh_broker.jetstream.retrying import OPERATION_TIMEOUT_S, until_answered
from toolmesh_broker.jetstream.watch import JetStreamWatch
from toolmesh_broker.ports import Entry, InitialDone
from toolmesh_broker.ttl import whole_seconds
from toolmesh_contracts.headers import EXPECTED_LAST_SUBJECT_SEQUENCE, MESSAGE_ID, MESSAGE_TTL

__all__ = ["DELETE_MARKER_TTL_S", "JetStreamKeyValue", "is_tombstone"]

DELETE_MARKER_TTL_S: Final = 60
"""How long a deletion stays visible for those who re-read a bucket."""

_OPERATION = "KV-Operation"
_MARKER_REASON = "Nats-Marker-Reason"
_NOT_FOUND = "404"


def is_tombstone(answer: Answer) -> bool:
    """Tell whether a bucket's message says that its key is deleted or expired."""
    return _MARKER_REASON in answer.headers or answer.headers.get(_OPERATION) in ("DEL", "PURGE")


class JetStreamKeyValue:
    """One bucket. See the port `KeyValue`.

    Values are read through the subject form of direct get, so that permissions can be cut by key. With several
    replicas a read may be a moment old; every write that matters is a compare-and-set.
    """

    def __init__(self, connection: Connection, bucket: str, watch_timing: PullTiming | None = None) -> None:
        self._connection = connection
        self._bucket = bucket
        self._stream = f"KV_{bucket}"
        self._prefix = f"$KV.{bucket}."
        self._watch_timing = watch_timing or PullTiming()

    async def get(self, key: str) -> Entry | None:
        """Return the key's value, or None."""
        answer = await self._last(key)
        if answer is None or is_tombstone(answer):
            return None
        return Entry(key, answer.body, int(answer.headers["Nats-Sequence"]))

    async def create(self, key: str, value: bytes, ttl_s: float | None = None) -> int:
        """Write a key that has no value."""
        with contextlib.suppress(RevisionConflictError):
            return await self._write(key, value, ttl_s, 0)

        last = await self._last(key)
        if last is not None and not is_tombstone(last):
            raise KeyExistsError(key)
        try:
            return await self._write(key, value, ttl_s, int(last.headers["Nats-Sequence"]) if last is not None else 0)
        except RevisionConflictError:
            raise KeyExistsError(key) from None

    async def update(self, key: str, value: bytes, revision: int, ttl_s: float | None = None) -> int:
        """Write a key that is still at `revision`."""
        return await self._write(key, value, ttl_s, revision)

    async def put(self, key: str, value: bytes, ttl_s: float | None = None) -> int:
        """Write a key whatever it holds."""
        return await self._write(key, value, ttl_s, None)

    async def delete(self, key: str, revision: int | None = None) -> None:
        """Remove a key's value."""
        await self._write(key, b"", DELETE_MARKER_TTL_S, revision, {_OPERATION: "DEL"})

    async def keys(self, pattern: str = ">") -> list[str]:
        """Return the keys that have a value now and match."""
        found: dict[str, None] = {}
        async with self.watch(pattern) as watch:
            async for change in watch:
                if isinstance(change, InitialDone):
                    break
                if isinstance(change, Entry):
                    found[change.key] = None
                else:
                    found.pop(change.key, None)
        return list(found)

    @contextlib.asynccontextmanager
    async def watch(self, pattern: str = ">") -> AsyncIterator[JetStreamWatch]:
        """Follow the keys that match."""
        watch = JetStreamWatch(self._connection, self._stream, self._prefix, pattern, is_tombstone, self._watch_timing)
        await watch.open()
        try:
            yield watch
        finally:
            await watch.close()

    async def _last(self, key: str) -> Answer | None:
        subject = f"$JS.API.DIRECT.GET.{self._stream}.{self._prefix}{key}"

        async def once(try_s: float) -> Answer:
            return await self._connection.ask(subject, b"", try_s)

        answer = await until_answered(once, OPERATION_TIMEOUT_S)
        if answer.status == _NOT_FOUND:
            return None
        if answer.status:
            raise BrokerRefusedError(f"reading key {key} of {self._bucket}: {answer.status} {answer.description}")
        return answer

    async def _write(
        self, key: str, value: bytes, ttl_s: float | None, expected: int | None, extra: dict[str, str] | None = None
    ) -> int:
        message_id = fresh_id()
        headers = {MESSAGE_ID: message_id, **(extra or {})}
        if ttl_s is not None:
            headers[MESSAGE_TTL] = str(whole_seconds(ttl_s))
        if expected is not None:
            headers[EXPECTED_LAST_SUBJECT_SEQUENCE] = str(expected)
        try:
            receipt = await publish_acknowledged(self._connection, self._stream, f"{self._prefix}{key}", value, headers)
        except RevisionConflictError:
            # The server compares sequences before it looks for a repeated id: the write may be ours, its answer lost.
            last = await self._last(key)
            if last is None or last.headers.get(MESSAGE_ID) != message_id:
                raise RevisionConflictError(key, expected or 0) from None
            return int(last.headers["Nats-Sequence"])
        return receipt.sequence
