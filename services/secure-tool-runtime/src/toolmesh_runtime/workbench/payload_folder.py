"""Payloads in a folder. See the port `PayloadStore`."""

import asyncio
import hashlib
import secrets
from collections.abc import AsyncIterable, AsyncIterator
from pathlib import Path
from typing import Final

from toolmesh_broker.errors import PayloadMissingError
from toolmesh_contracts.envelopes.values import PayloadRef

__all__ = ["PayloadFolder"]

_CHUNK: Final = 1 << 20
_BUCKET: Final = "folder"


class PayloadFolder:
    """The payloads of one run; who made the folder removes it."""

    bucket = _BUCKET

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def put(self, name: str, content: bytes | AsyncIterable[bytes], ttl_s: float) -> PayloadRef:
        """Store `content`."""
        path = self._folder / secrets.token_hex(8)
        digest, size = hashlib.sha256(), 0
        with await asyncio.to_thread(path.open, "xb") as file:
            async for chunk in _chunks(content):
                digest.update(chunk)
                size += len(chunk)
                await asyncio.to_thread(file.write, chunk)
        return PayloadRef(bucket=_BUCKET, object=path.name, size=size, sha256=digest.hexdigest())

    async def put_file(self, source: Path) -> PayloadRef:
        """Store a copy of a file. Raises OSError."""
        with await asyncio.to_thread(source.open, "rb") as file:

            async def content() -> AsyncIterator[bytes]:
                while chunk := await asyncio.to_thread(file.read, _CHUNK):
                    yield chunk

            return await self.put(source.name, content(), 0)

    async def open(self, ref: PayloadRef) -> AsyncIterator[bytes]:
        """Read chunk by chunk; nobody else writes here, so nothing is verified."""
        try:
            file = await asyncio.to_thread((self._folder / ref.object).open, "rb")
        except FileNotFoundError as error:
            raise PayloadMissingError(f"payload {ref.object} is not stored") from error
        with file:
            while chunk := await asyncio.to_thread(file.read, _CHUNK):
                yield chunk

    async def delete(self, ref: PayloadRef) -> None:
        """Remove it."""
        await asyncio.to_thread((self._folder / ref.object).unlink, missing_ok=True)


async def _chunks(content: bytes | AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    if isinstance(content, bytes):
        yield content
        return
    async for chunk in content:
        yield chunk
