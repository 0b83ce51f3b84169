"""Lines that a person types, without a thread that would have to be waited for at the end."""

import asyncio
import os
from typing import Final

__all__ = ["TypedLines"]

_BLOCK: Final = 65_536
_LONGEST: Final = 1024 * 1024


class TypedLines:
    """Reads lines from a descriptor, which stays in its mode: a terminal's is that of stdout, too."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._buffer = b""
        self._ended = False

    async def next(self) -> str | None:
        """Return the next line without its end; None at the end of the input.

        Bytes that are no UTF-8 are replaced; a line of over a mebibyte ends there.
        """
        while b"\n" not in self._buffer and len(self._buffer) < _LONGEST and not self._ended:
            block = await self._read()
            self._buffer += block
            self._ended = not block
        if not self._buffer:
            return None
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line.decode(errors="replace").removesuffix("\r")

    async def _read(self) -> bytes:
        await _until_readable(self._descriptor)
        try:
            return os.read(self._descriptor, _BLOCK)
        except OSError:
            return b""  # the terminal has gone away


async def _until_readable(descriptor: int) -> None:
    loop = asyncio.get_running_loop()
    readable = asyncio.Event()
    try:
        loop.add_reader(descriptor, readable.set)
    except PermissionError:
        return  # a file of a disk always is
    try:
        await readable.wait()
    finally:
        loop.remove_reader(descriptor)
