"""A TCP transport that a dead peer can't hold up, and that never sends credentials in clear."""

import asyncio
from urllib.parse import ParseResult

from nats.aio.transport import TcpTransport

__all__ = ["GuardedTransport", "TlsNotOfferedError"]

_CLOSE_GRACE_S = 1.0


class TlsNotOfferedError(ConnectionError):
    """Raised instead of sending anything in clear; a ConnectionError, so that nats-py tries again later."""


class GuardedTransport(TcpTransport):
    """Closes a half-open connection by aborting it, and insists on TLS where it was asked for.

    nats-py upgrades to TLS only if the server says so: without this check a man in the middle who strips that word
    would get the credentials in clear.
    """

    def __init__(self, *, require_tls: bool) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._require_tls = require_tls

    def __bool__(self) -> bool:
        """Tell nats-py to keep this transport instead of making its own."""
        return True

    async def connect(self, uri: ParseResult, buffer_size: int, connect_timeout: int) -> None:
        """Dial, after closing what a failed attempt left open."""
        if self._io_writer is not None:
            self._io_writer.close()
        await super().connect(uri, buffer_size, connect_timeout)

    def write(self, payload: bytes) -> None:
        """Send bytes, once the connection is as private as was asked for.

        Raises:
            TlsNotOfferedError: TLS was asked for and the server did not offer it.
        """
        if self._require_tls and self._io_writer is self._bare_io_writer:
            raise TlsNotOfferedError("the server offers no TLS")
        super().write(payload)  # type: ignore[no-untyped-call]

    async def drain(self) -> None:
        """Wait for the write buffer; nothing to wait for before the first connection."""
        if self._io_writer is not None:
            await super().drain()  # type: ignore[no-untyped-call]

    async def wait_closed(self) -> None:
        """Wait for the connection's end, but not for bytes that a dead peer will never take."""
        writer = self._io_writer
        if writer is None:
            return

        try:
            async with asyncio.timeout(_CLOSE_GRACE_S):
                await writer.wait_closed()
        except TimeoutError:
            writer.transport.abort()
