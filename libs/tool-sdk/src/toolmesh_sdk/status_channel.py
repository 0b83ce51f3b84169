"""Status messages to the host: one JSON line each into a FIFO, never torn, never glued, never blocking for long."""

from __future__ import annotations

import os
from _thread import allocate_lock
from json import dumps
from time import monotonic, sleep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

OPEN_WAIT_S = 0.2
WRITE_WAIT_S = 2.0


class StatusChannel:
    """The writing end of the status FIFO, opened on first use.

    Args:
        path: Path of the FIFO, or "" for a host that wants no status.
        write_wait_s: How long one message may wait for the host to drain a full FIFO.
    """

    __slots__ = ("_descriptor", "_lock", "_path", "_rest", "_waited", "_write_wait_s")

    def __init__(self, path: str, write_wait_s: float = WRITE_WAIT_S) -> None:
        self._path = path
        self._write_wait_s = write_wait_s
        self._descriptor = -1
        self._rest = b""  # the end of a line that the FIFO took only in part
        self._waited = False
        self._lock = allocate_lock()

    def send(self, fields: dict[str, Any]) -> bool:
        """Send one line; return whether the host's FIFO took all of it."""
        line = dumps(fields).encode("ascii") + b"\n"
        with self._lock:
            deadline = monotonic() + self._write_wait_s
            return self._open() and self._flush_rest(deadline) and self._write(line, deadline)

    def close(self) -> None:
        """Write what is left of a line and close."""
        with self._lock:
            if self._descriptor >= 0:
                self._flush_rest(monotonic() + self._write_wait_s)
                self._drop_connection()

    def _open(self) -> bool:
        if self._descriptor >= 0:
            return True
        if not self._path:
            return False
        # Only the first message waits for a reader: a host without one must not cost 200 ms a message.
        give_up = monotonic() + (0.0 if self._waited else OPEN_WAIT_S)
        self._waited = True
        while True:
            try:
                self._descriptor = os.open(self._path, os.O_WRONLY | os.O_NONBLOCK | os.O_APPEND | os.O_CLOEXEC)
            except OSError as problem:
                from errno import ENXIO

                if problem.errno != ENXIO or monotonic() >= give_up:
                    return False
                sleep(0.02)
            else:
                return True

    def _flush_rest(self, deadline: float) -> bool:
        rest, self._rest = self._rest, b""
        return not rest or self._write(rest, deadline, torn=True)

    def _write(self, data: bytes, deadline: float, torn: bool = False) -> bool:
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(self._descriptor, view) :]
                continue
            except BlockingIOError:
                if self._wait_for_room(deadline):
                    continue
            except OSError:
                self._drop_connection()
                return False
            # Out of time: a line not begun is dropped, a begun one is finished before the next.
            if torn or len(view) < len(data):
                self._rest = bytes(view)
            return False
        return True

    def _wait_for_room(self, deadline: float) -> bool:
        remaining = deadline - monotonic()
        if remaining <= 0:
            return False
        from select import POLLOUT, poll

        poller = poll()
        poller.register(self._descriptor, POLLOUT)
        # A FIFO is writable from 4 KiB of room on; a longer line is written in parts, each as room comes.
        poller.poll(max(1, int(remaining * 1000)))
        return True

    def _drop_connection(self) -> None:
        os.close(self._descriptor)
        self._descriptor = -1
        self._rest = b""
