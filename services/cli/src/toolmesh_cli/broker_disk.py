"""Watches the disk that the embedded broker writes to.

A stream that failed to write once takes nothing more until the server starts again, also when there is space again, and
nobody who sends to it gets an answer; no request to the server tells of it.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Final

from toolmesh_broker.embedded import EmbeddedServer
from toolmesh_cli.terminal import Terminal

__all__ = ["keep_writable"]

_EVERY_S: Final = 1.0
_MEBIBYTE: Final = 1024 * 1024
_FULL_BYTES: Final = _MEBIBYTE
"""Less than the largest message needs."""
_ENOUGH_BYTES: Final = 8 * _MEBIBYTE


async def keep_writable(server: EmbeddedServer, folder: Path, terminal: Terminal) -> None:
    """Tell once that the disk of `folder` is full, and end the server once it no longer is.

    Whoever keeps the server running starts it again.
    """
    while True:
        await _until(lambda free: free < _FULL_BYTES, folder)
        terminal.warning(f"the disk of {folder} is full, so calls get lost or wait: make space there")
        free = await _until(lambda free: free > _ENOUGH_BYTES, folder)
        terminal.step("broker", f"has {free // _MEBIBYTE} MiB of space again in {folder}; it must start anew to write")
        with contextlib.suppress(ProcessLookupError):
            os.kill(server.pid, signal.SIGTERM)


async def _until(reached: Callable[[int], bool], folder: Path) -> int:
    while True:
        with contextlib.suppress(OSError):  # a folder that was taken away is not this watch's business
            free = await asyncio.to_thread(_free_bytes, folder)
            if reached(free):
                return free
        await asyncio.sleep(_EVERY_S)


def _free_bytes(folder: Path) -> int:
    """Return how much this user may still write; root may use what is reserved."""
    disk = os.statvfs(folder)
    return disk.f_frsize * (disk.f_bfree if os.geteuid() == 0 else disk.f_bavail)
