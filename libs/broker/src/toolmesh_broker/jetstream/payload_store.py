"""Large contents in chunks of an object store bucket, with a reader and a writer of our own.

nats-py's reader takes ten times as long as its writer and leaks tasks (nats.py issues 703, 596), and its layout keeps
the chunks' order only if no publish is ever repeated. Here every chunk has a subject of its own,
`$O.<bucket>.C.<object>.<index>`: chunks may arrive in any order, a repeat is harmless, and a read is the subject form
of direct get. A TTL on every chunk lets the broker clean up by itself, also after a writer that died.
"""

import asyncio
import contextlib
import hashlib
import math
import secrets
import time
from collections import deque
from collections.abc import AsyncIterable, AsyncIterator
from typing import Final

from toolmesh_broker.errors import (
    BrokerError,
    BrokerRefusedError,
    BrokerTimeoutError,
    BrokerUnreachableError,
    NoRespondersError,
    PayloadCorruptError,
    PayloadMissingError,
    QueueFullError,
)
from toolmesh_broker.jetstream.api import api_request, publish_acknowledged
from toolmesh_broker.jetstream.connection import Connection
from toolmesh_broker.jetstream.requests import Answer, PendingAnswer
from toolmesh_broker.jetstream.retrying import OPERATION_TIMEOUT_S, REQUEST_TIMEOUT_S, until_answered
from toolmesh_broker.task_scope import task_scope
from toolmesh_broker.ttl import whole_seconds
from toolmesh_contracts.envelopes.values import PayloadRef
from toolmesh_contracts.headers import MESSAGE_ID, MESSAGE_TTL
from toolmesh_contracts.names import token

__all__ = ["CHUNK_BYTES", "JetStreamPayloadStore"]

CHUNK_BYTES: Final = 128 * 1024
_WINDOW: Final = 16
"""Chunks in flight, either way: 2 MiB of memory."""
_NOT_FOUND: Final = "404"
_LAG_S: Final = 2.0
"""How long a server of a cluster may lag behind the others that have acknowledged a write."""
_LAG_PAUSE_S: Final = 0.1


class JetStreamPayloadStore:
    """The payloads of one pool. See the port `PayloadStore`."""

    def __init__(self, connection: Connection, bucket: str) -> None:
        self._connection = connection
        self._bucket = bucket
        self._stream = f"OBJ_{bucket}"

    async def put(self, name: str, content: bytes | AsyncIterable[bytes], ttl_s: float) -> PayloadRef:
        """Store `content`.

        Raises:
            QueueFullError: the broker's disk or the bucket's limit is full.
            BrokerError: not stored; what was written of it is removed, or goes by its TTL where that fails.
        """
        ttl = str(whole_seconds(ttl_s))
        object_name = f"{token(name)}.{secrets.token_hex(8)}"
        digest = hashlib.sha256()
        size = index = 0
        free = asyncio.Semaphore(_WINDOW)

        failed: list[BrokerError] = []

        async def write(subject: str, chunk: bytes) -> None:
            # The subject is new, so it is also the id under which the broker drops a repeat.
            headers = {MESSAGE_ID: subject, MESSAGE_TTL: ttl}
            try:
                await publish_acknowledged(self._connection, self._stream, subject, chunk, headers)
            except BrokerError as error:
                failed.append(error)
            finally:
                free.release()

        try:
            async with task_scope() as group:
                async for chunk in _rechunked(content):
                    await free.acquire()
                    if failed:
                        break
                    digest.update(chunk)
                    size += len(chunk)
                    group.create_task(write(self._chunk_subject(object_name, index), chunk))
                    index += 1
        except BaseException:
            await self._discard(object_name)
            raise
        if failed:
            await self._discard(object_name)
            if isinstance(failed[0], QueueFullError):
                raise self._full(name, size) from failed[0]
            raise failed[0]
        return PayloadRef(bucket=self._bucket, object=object_name, size=size, sha256=digest.hexdigest())

    async def open(self, ref: PayloadRef) -> AsyncIterator[bytes]:
        """Read chunk by chunk, verifying on the way."""
        if ref.bucket != self._bucket:
            raise PayloadMissingError(f"payload {ref.object} lies in bucket {ref.bucket}, not in {self._bucket}")

        digest = hashlib.sha256()
        size = 0
        if ref.size > 0:
            async for chunk in self._chunks(ref):
                size += len(chunk)
                if size > ref.size:
                    raise PayloadCorruptError(
                        f"payload {ref.object} is longer than the {ref.size} bytes it should have"
                    )
                digest.update(chunk)
                yield chunk
        if size != ref.size:
            raise PayloadCorruptError(f"payload {ref.object} has {size} of {ref.size} bytes")
        if digest.hexdigest() != ref.sha256:
            raise PayloadCorruptError(f"payload {ref.object} does not match its SHA-256")

    async def delete(self, ref: PayloadRef) -> None:
        """Remove it."""
        if ref.bucket == self._bucket:
            await self._purge(ref.object)

    # -- internals

    def _full(self, name: str, size: int) -> QueueFullError:
        return QueueFullError(
            f"the payload store {self._bucket} has no room for {name}, of which {size} bytes were sent",
            hint="send less, or try again later: what calls have stored there goes when they end",
        )

    async def _discard(self, object_name: str) -> None:
        """Remove what a write left that failed: until its TTL it could keep the bucket full for everybody."""
        if not self._connection.connected:
            return
        with contextlib.suppress(BrokerError):
            await self._purge(object_name)

    async def _purge(self, object_name: str) -> None:
        request = {"filter": self._chunk_subject(object_name, ">")}
        await api_request(self._connection, f"STREAM.PURGE.{self._stream}", request)

    def _chunk_subject(self, object_name: str, index: int | str) -> str:
        return f"$O.{self._bucket}.C.{object_name}.{index}"

    async def _chunks(self, ref: PayloadRef) -> AsyncIterator[bytes]:
        """Read the first chunk, which tells the chunk size, then the others with some requests ahead."""
        first = await self._finish(ref, 0, None)
        yield first
        count = math.ceil(ref.size / max(1, len(first)))
        ahead: deque[tuple[PendingAnswer | None, contextlib.ExitStack]] = deque()
        try:
            for index in range(1, count):
                while index + len(ahead) < count and len(ahead) < _WINDOW:
                    ahead.append(await self._begin(ref, index + len(ahead)))
                pending, registered = ahead.popleft()
                # An answer is let go of at once: held until the end they would add up to the whole payload.
                with registered:
                    chunk = await self._finish(ref, index, pending)
                del pending, registered
                yield chunk
        finally:
            for _, registered in ahead:
                registered.close()

    async def _begin(self, ref: PayloadRef, index: int) -> tuple[PendingAnswer | None, contextlib.ExitStack]:
        subject = self._get_subject(ref, index)
        with contextlib.ExitStack() as registered:
            pending = registered.enter_context(self._connection.expect(subject))
            try:
                await self._connection.send(subject, b"", reply=pending.reply)
            except BrokerUnreachableError:
                return None, contextlib.ExitStack()
            return pending, registered.pop_all()

    async def _finish(self, ref: PayloadRef, index: int, pending: PendingAnswer | None) -> bytes:
        """Wait for a chunk; one that does not come is asked for again."""
        answer: Answer | None = None
        if pending is not None:
            with contextlib.suppress(NoRespondersError, BrokerTimeoutError, BrokerUnreachableError):
                answer = await pending.wait(REQUEST_TIMEOUT_S)
        if answer is None:
            answer = await self._ask(ref, index)
        if answer.status == _NOT_FOUND:
            answer = await self._ask_others(ref, index)
        if answer.status == _NOT_FOUND:
            if index == 0:
                raise PayloadMissingError(
                    f"payload {ref.object} is not stored", hint="it may have outlived its time to live"
                )
            raise PayloadCorruptError(f"payload {ref.object} is cut short: chunk {index} is missing")
        if answer.status:
            raise BrokerRefusedError(f"reading payload {ref.object}: {answer.status} {answer.description}")
        return answer.body

    async def _ask_others(self, ref: PayloadRef, index: int) -> Answer:
        """Ask again for a moment: of a cluster, a server that lags behind may have answered."""
        until = time.monotonic() + _LAG_S
        while True:
            await asyncio.sleep(_LAG_PAUSE_S)
            answer = await self._ask(ref, index)
            if answer.status != _NOT_FOUND or time.monotonic() >= until:
                return answer

    async def _ask(self, ref: PayloadRef, index: int) -> Answer:
        async def once(try_s: float) -> Answer:
            return await self._connection.ask(self._get_subject(ref, index), b"", try_s)

        return await until_answered(once, OPERATION_TIMEOUT_S)

    def _get_subject(self, ref: PayloadRef, index: int) -> str:
        return f"$JS.API.DIRECT.GET.{self._stream}.{self._chunk_subject(ref.object, index)}"


async def _rechunked(content: bytes | AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    if isinstance(content, bytes):
        for start in range(0, len(content), CHUNK_BYTES):
            yield content[start : start + CHUNK_BYTES]
        return

    rest = bytearray()
    async for piece in content:
        rest += piece
        while len(rest) >= CHUNK_BYTES:
            yield bytes(rest[:CHUNK_BYTES])
            del rest[:CHUNK_BYTES]
    if rest:
        yield bytes(rest)
