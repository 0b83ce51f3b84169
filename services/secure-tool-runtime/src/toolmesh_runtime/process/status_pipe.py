"""The status FIFO: held open for reading and writing before the tool starts, drained until it has ended."""

import asyncio
import contextlib
import fcntl
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

__all__ = ["OnStatus", "StatusLines", "status_pipe"]

_PIPE_BYTES: Final = 1 << 20
_READ_BYTES: Final = 1 << 13
_PAUSE_S: Final = 0.05
_LINES_AT_ONCE: Final = 4096
_MAX_LINE_BYTES: Final = 1 << 16
_MAX_TEXT: Final = 4096
_LINE_START: Final = b'{"status":'

OnStatus = Callable[[str, float | None], None]
"""Takes a status: its text, and how far the tool is, from 0 to 1, if it says so."""


class StatusLines:
    """Splits the FIFO's bytes into statuses, each a text and a progress or None.

    A line over 64 KiB, or one that is no JSON, is dropped; a whole line glued to the rest of a cut one is kept. Of what
    comes at once only the last 4,096 lines are looked at: all that a flood left would take the worker from other calls.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._skipping = False

    def feed(self, data: bytes) -> list[tuple[str, float | None]]:
        """Return the statuses completed by `data`, their texts at most 4,096 characters."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        if self._skipping and lines:
            del lines[0]
            self._skipping = False
        found = map(_status_of, lines[-_LINES_AT_ONCE:])
        statuses = [status for status in found if status is not None]
        if len(self._rest) > _MAX_LINE_BYTES:
            self._rest, self._skipping = b"", True
        return statuses


def _status_of(line: bytes) -> tuple[str, float | None] | None:
    for candidate in (line, line[max(line.rfind(_LINE_START), 0) :]):
        try:
            fields = json.loads(candidate)
            message = fields["status"]
        except (ValueError, KeyError, TypeError, RecursionError):
            continue
        text = message if isinstance(message, str) else json.dumps(message)
        return text.encode(errors="replace").decode()[:_MAX_TEXT], _progress_of(fields)
    return None


def _progress_of(fields: dict[str, Any]) -> float | None:
    progress = fields.get("progress")
    if isinstance(progress, bool) or not isinstance(progress, int | float) or not 0 <= progress <= 1:
        return None
    return float(progress)


@contextlib.contextmanager
def status_pipe(path: Path, on_status: OnStatus) -> Iterator[None]:
    """Drain the FIFO at `path`, and call `on_status` for each status, until the block ends.

    The descriptor is open for reading and writing, so that the tool never meets a pipe without a reader and the
    reader never meets an end of file.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        with contextlib.suppress(OSError):  # an unprivileged user may have used up its pipe pages
            fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        lines = StatusLines()
        loop = asyncio.get_running_loop()
        paused: asyncio.TimerHandle | None = None

        def drain(most: int) -> None:
            with contextlib.suppress(BlockingIOError):
                for text, progress in lines.feed(os.read(descriptor, most)):
                    on_status(text, progress)

        def readable() -> None:
            nonlocal paused
            drain(_READ_BYTES)
            # A flood, even in small pieces, must not take the loop from other calls. What is not read yet waits in the
            # pipe; few statuses go out anyway.
            loop.remove_reader(descriptor)
            paused = loop.call_later(_PAUSE_S, loop.add_reader, descriptor, readable)

        loop.add_reader(descriptor, readable)
        try:
            yield
        finally:
            if paused is not None:
                paused.cancel()
            loop.remove_reader(descriptor)
            drain(2 * _PIPE_BYTES)
    finally:
        os.close(descriptor)
