"""Large contents travel beside a message: up to 256 KiB inline, above that as a reference into the payload store."""

from typing import Final

from toolmesh_broker.errors import PayloadTooLargeError
from toolmesh_broker.ports import PayloadStore
from toolmesh_contracts.envelopes.values import PayloadRef

__all__ = ["INLINE_LIMIT_BYTES", "check_in", "check_out"]

INLINE_LIMIT_BYTES: Final = 256 * 1024


async def check_in(
    store: PayloadStore, name: str, content: bytes, ttl_s: float, *, inline_limit: int = INLINE_LIMIT_BYTES
) -> PayloadRef | None:
    """Store `content` if it is too large to travel inline; None means: send it inline."""
    if len(content) <= inline_limit:
        return None
    return await store.put(name, content, ttl_s)


async def check_out(store: PayloadStore, ref: PayloadRef, *, max_bytes: int) -> bytes:
    """Return a stored content, verified.

    Raises:
        PayloadTooLargeError: it is larger than `max_bytes`; nothing was read.
        PayloadMissingError, PayloadCorruptError: it can't be used.
    """
    if ref.size > max_bytes:
        raise PayloadTooLargeError(ref.size, max_bytes, ref.object)
    return b"".join([chunk async for chunk in store.open(ref)])
