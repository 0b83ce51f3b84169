"""What the worker's user finds in the midst of a call that holds a quota of its user.

The process that looks is of the worker's user and in the worker's user namespace, so the kernel counts both as one.
"""

import asyncio
import ctypes
import fcntl
import os

_MIDWAY_S = 0.45
_PIPE_BYTES = 65536


async def look_midway(check: str | None) -> str:
    """Return what is wrong, if the check is one that is made during the call."""
    if check not in {"pipe_size", "inotify_ok"}:
        return ""
    await asyncio.sleep(_MIDWAY_S)
    return _pipe() if check == "pipe_size" else _inotify()


def _pipe() -> str:
    reading, writing = os.pipe()
    try:
        size = fcntl.fcntl(writing, fcntl.F_GETPIPE_SZ)
    finally:
        os.close(reading)
        os.close(writing)
    return "" if size == _PIPE_BYTES else f"a pipe of the worker's user holds {size} bytes"


def _inotify() -> str:
    descriptor = ctypes.CDLL(None, use_errno=True).inotify_init1(os.O_CLOEXEC)
    if descriptor < 0:
        return "the worker's user can't watch files any more"
    os.close(descriptor)
    return ""
