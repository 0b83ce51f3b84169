"""Large arguments and input files on their way to a pool."""

import asyncio
import mimetypes
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from toolmesh_broker.claim_check import INLINE_LIMIT_BYTES
from toolmesh_broker.errors import BrokerError
from toolmesh_broker.ports import Broker, PayloadStore
from toolmesh_broker.ttl import seconds_until
from toolmesh_client.errors import InvalidCallError
from toolmesh_contracts.envelopes.values import ArtifactRef, PayloadRef
from toolmesh_contracts.file_names import file_name

__all__ = ["OutgoingPayloads", "read_file"]

_CHUNK: Final = 128 * 1024
_KEPT_AFTER_DEADLINE_S: Final = 600.0


async def read_file(path: Path) -> AsyncIterator[bytes]:
    """Yield a file's content chunk by chunk, read in a thread."""
    file = await asyncio.to_thread(path.open, "rb")
    try:
        while chunk := await asyncio.to_thread(file.read, _CHUNK):
            yield chunk
    finally:
        file.close()


@dataclass(slots=True)
class OutgoingPayloads:
    """What a call keeps in its pool's payload store; removed when the call has ended."""

    broker: Broker
    pool: str
    invocation: str
    deadline_ms: int = 0
    """Unix time in milliseconds of the call's deadline; known before anything is stored."""
    owned: list[PayloadRef] = field(default_factory=list)

    @property
    def _store(self) -> PayloadStore:
        return self.broker.payloads(self.pool)

    async def arguments(self, document: bytes) -> PayloadRef | None:
        """Store arguments that are too large for a message; None for those that are not."""
        if len(document) <= INLINE_LIMIT_BYTES:
            return None
        return await self._put("arguments", document)

    async def artifacts(self, given: Mapping[str, ArtifactRef | Path]) -> dict[str, ArtifactRef]:
        """Return references that the pool's workers can read, by parameter.

        Raises:
            InvalidCallError: a local file can't be read.
        """
        return {name: await self._artifact(n, source) for n, (name, source) in enumerate(given.items())}

    async def discard(self) -> None:
        """Remove what was stored; what can't be removed now expires by itself."""
        while self.owned and self.broker.connected:
            ref = self.owned.pop()
            try:
                await self._store.delete(ref)
            except BrokerError:
                return

    async def _artifact(self, number: int, source: ArtifactRef | Path) -> ArtifactRef:
        if isinstance(source, Path):
            return await self._local_file(number, source)
        if source.payload.bucket == self.broker.subjects.payload_bucket(self.pool):
            return source
        raise InvalidCallError(
            f"artifact {source.filename!r} lies in {source.payload.bucket}, which pool {self.pool!r} can't read",
            hint="save it to a local file and give that",
        )

    async def _local_file(self, number: int, path: Path) -> ArtifactRef:
        try:
            payload = await self._put(f"input-{number}", read_file(path))
        except OSError as error:
            raise InvalidCallError(f"file {path} can't be read: {error.strerror}", hint="check the path") from error
        mime_type = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
        return ArtifactRef(
            filename=file_name(path), mime_type=mime_type, size=payload.size, sha256=payload.sha256, payload=payload
        )

    async def _put(self, kind: str, content: bytes | AsyncIterator[bytes]) -> PayloadRef:
        ttl_s = max(seconds_until(self.deadline_ms), 0.0) + _KEPT_AFTER_DEADLINE_S
        ref = await self._store.put(f"{self.invocation}.{kind}", content, ttl_s)
        self.owned.append(ref)
        return ref
