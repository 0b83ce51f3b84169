"""Feed and read the pipes of a sandboxed command without blocking it, the event loop or memory."""

import asyncio
import codecs
import os
from collections.abc import Callable

_CHUNK = 65536
_CONTINUATION = bytes(range(0x80, 0xC0))


class Capture:
    """The head of a stream, and how much came after it."""

    def __init__(self, cap: int) -> None:
        self._cap = cap
        self._kept = bytearray()
        self._decoder: codecs.IncrementalDecoder | None = None
        self._characters = 0
        self.dropped = 0

    @property
    def kept(self) -> bytes:
        """The first bytes, at most the cap."""
        return bytes(self._kept)

    def add(self, data: bytes) -> None:
        """Take the next piece."""
        room = self._cap - len(self._kept)
        self._kept += data[:room]
        if rest := data[room:]:
            self.dropped += len(rest)
            if self._decoder is None:
                self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
                self._decoder.decode(_unfinished(self._kept))
            self._characters += len(self._decoder.decode(rest))

    @property
    def dropped_characters(self) -> int:
        """Characters that the bytes after the cap hold, read as UTF-8; one that the cap divides is among them."""
        if self._decoder is None:
            return 0
        pending, _flags = self._decoder.getstate()
        return self._characters + len(pending.decode(errors="replace"))

    async def read(self, descriptor: int) -> None:
        """Read a non-blocking descriptor to its end, so that the writer never waits, and close it."""
        try:
            while True:
                try:
                    data = os.read(descriptor, _CHUNK)
                except BlockingIOError:
                    await readable(descriptor)
                    continue
                if not data:
                    return
                self.add(data)
                await asyncio.sleep(0)
        finally:
            os.close(descriptor)


def _unfinished(data: bytearray) -> bytes:
    """The bytes at the end that are the beginning of a longer UTF-8 character."""
    tail = bytes(data[-3:]).lstrip(_CONTINUATION)
    _text, finished = codecs.utf_8_decode(tail, "replace", False)
    return tail[finished:]


async def feed(descriptor: int, data: bytes) -> None:
    """Write `data` to a non-blocking descriptor and close it; a reader that goes away is no error."""
    rest = memoryview(data)
    try:
        while rest:
            try:
                rest = rest[os.write(descriptor, rest[:_CHUNK]) :]
            except BlockingIOError:
                await writable(descriptor)
    except BrokenPipeError:
        pass
    finally:
        os.close(descriptor)


async def readable(descriptor: int) -> None:
    """Wait until a read would not block."""
    loop = asyncio.get_running_loop()
    await _ready(lambda wake: loop.add_reader(descriptor, wake), lambda: loop.remove_reader(descriptor))


async def writable(descriptor: int) -> None:
    """Wait until a write would not block, or fails because the reader is gone."""
    loop = asyncio.get_running_loop()
    await _ready(lambda wake: loop.add_writer(descriptor, wake), lambda: loop.remove_writer(descriptor))


async def _ready(add: Callable[[Callable[[], None]], None], remove: Callable[[], bool]) -> None:
    ready = asyncio.get_running_loop().create_future()
    add(lambda: None if ready.done() else ready.set_result(None))
    try:
        await ready
    finally:
        remove()
