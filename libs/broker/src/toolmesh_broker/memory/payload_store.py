"""Payloads in memory. See the port `PayloadStore`."""

import hashlib
import secrets
from collections.abc import AsyncIterable, AsyncIterator

from toolmesh_broker.errors import PayloadCorruptError, PayloadMissingError
from toolmesh_broker.memory.hub import MemoryHub, StoredPayload
from toolmesh_broker.ttl import whole_seconds
from toolmesh_contracts.envelopes.values import PayloadRef
from toolmesh_contracts.names import token

__all__ = ["MemoryPayloadStore"]

_CHUNK_BYTES = 128 * 1024


class MemoryPayloadStore:
    """The payloads of one pool."""

    def __init__(self, hub: MemoryHub, bucket: str) -> None:
        self._hub = hub
        self._bucket = bucket

    async def put(self, name: str, content: bytes | AsyncIterable[bytes], ttl_s: float) -> PayloadRef:
        """Store `content`."""
        whole = content if isinstance(content, bytes) else b"".join([piece async for piece in content])
        object_name = f"{token(name)}.{secrets.token_hex(8)}"
        expires_at = self._hub.now() + whole_seconds(ttl_s)
        self._hub.payloads[self._bucket, object_name] = StoredPayload(whole, expires_at)
        sha256 = hashlib.sha256(whole).hexdigest()
        return PayloadRef(bucket=self._bucket, object=object_name, size=len(whole), sha256=sha256)

    async def open(self, ref: PayloadRef) -> AsyncIterator[bytes]:
        """Read chunk by chunk, verifying at the end."""
        stored = self._hub.payloads.get((ref.bucket, ref.object))
        if ref.bucket != self._bucket or stored is None or stored.expires_at <= self._hub.now():
            raise PayloadMissingError(
                f"payload {ref.object} is not stored", hint="it may have outlived its time to live"
            )

        for start in range(0, len(stored.content), _CHUNK_BYTES):
            yield stored.content[start : start + _CHUNK_BYTES]
        if len(stored.content) != ref.size:
            raise PayloadCorruptError(f"payload {ref.object} has {len(stored.content)} of {ref.size} bytes")
        if hashlib.sha256(stored.content).hexdigest() != ref.sha256:
            raise PayloadCorruptError(f"payload {ref.object} does not match its SHA-256")

    async def delete(self, ref: PayloadRef) -> None:
        """Remove it."""
        self._hub.payloads.pop((ref.bucket, ref.object), None)
