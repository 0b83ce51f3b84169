"""The status FIFO: held open for reading and writing before the tool starts, drained until it has ended."""

import asyncio
import contextlib
import fcntl
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

__all__ = ["StatusLines", "status_pipe"]

_PIPE_BYTES: Final = 1 << 20
_READ_BYTES: Final = 1 << 16
_MAX_LINE_BYTES: Final = 1 << 16
_MAX_TEXT: Final = 4096
_LINE_START: Final = b'{"status":'


class StatusLines:
    """Splits the FIFO's bytes into status texts.

    A line over 64 KiB, or one that is no JSON, is dropped; a whole line glued to the rest of a cut one is kept.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._skipping = False

    def feed(self, data: bytes) -> list[str]:
        """Return the texts completed by `data`, each at most 4,096 characters."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        texts = []
        for line in lines:
            if self._skipping:
                self._skipping = False
            elif (text := _text_of(line)) is not None:
                texts.append(text)
        if len(self._rest) > _MAX_LINE_BYTES:
            self._rest, self._skipping = b"", True
        return texts


def _text_of(line: bytes) -> str | None:
    for candidate in (line, line[max(line.rfind(_LINE_START), 0) :]):
        try:
            message = json.loads(candidate)["status"]
        except (ValueError, KeyError, TypeError, RecursionError):
            continue
        text = message if isinstance(message, str) else json.dumps(message)
        return text.encode(errors="replace").decode()[:_MAX_TEXT]
    return None


@contextlib.contextmanager
def status_pipe(path: Path, on_status: Callable[[str], None]) -> Iterator[None]:
    """Drain the FIFO at `path`, and call `on_status` for each status, until the block ends.

    The descriptor is open for reading and writing, so that the tool never meets a pipe without a reader and the
    reader never meets an end of file.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        with contextlib.suppress(OSError):  # an unprivileged user may have used up its pipe pages
            fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        lines = StatusLines()

        def drain(limit: int = 4) -> None:
            for _ in range(limit):
                try:
                    data = os.read(descriptor, _READ_BYTES)
                except BlockingIOError:
                    return
                for text in lines.feed(data):
                    on_status(text)

        loop = asyncio.get_running_loop()
        loop.add_reader(descriptor, drain)
        try:
            yield
        finally:
            loop.remove_reader(descriptor)
            drain(limit=2 * _PIPE_BYTES // _READ_BYTES)
    finally:
        os.close(descriptor)
