"""Streamed text in pieces that are worth a record."""

from collections.abc import Awaitable, Callable

__all__ = ["TextPieces"]


class TextPieces:
    """Passes text on once enough of it has come together.

    Args:
        least_bytes: Of a piece, in UTF-8.
        pass_on: Takes a piece.
    """

    def __init__(self, least_bytes: int, pass_on: Callable[[str], Awaitable[None]]) -> None:
        self._least_bytes = least_bytes
        self._pass_on = pass_on
        self._waiting = ""

    async def add(self, text: str) -> None:
        """Take the next text."""
        self._waiting += text
        if len(self._waiting.encode(errors="replace")) >= self._least_bytes:
            await self.flush()

    async def flush(self) -> None:
        """Pass on what has come together."""
        if self._waiting:
            piece, self._waiting = self._waiting, ""
            await self._pass_on(piece)

    def forget(self) -> None:
        """Drop what has come together: it is void."""
        self._waiting = ""
