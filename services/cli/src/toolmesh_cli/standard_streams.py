"""Standard streams that are there, and stay quiet once nobody can be reached through them."""

import contextlib
import os
import sys
from typing import Final, TextIO

__all__ = ["open_missing_streams", "silence"]

_DESCRIPTORS: Final = (0, 1, 2)


def open_missing_streams() -> None:
    """Give streams that the process was started without (`>&-`) to /dev/null.

    Otherwise `sys.stdout` is None, and the next file or socket that is opened takes the stream's number.
    """
    for number in _DESCRIPTORS:
        try:
            os.fstat(number)
        except OSError:
            # Gets the lowest free number, which is this one, as those below are open.
            os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(number, True)
    sys.stdin = sys.stdin or os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout = sys.stdout or os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", encoding="utf-8", closefd=False)


def silence(stream: TextIO) -> None:
    """Send what the stream still holds, and all that will follow, to /dev/null, so that it raises at no later write."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
        stream.flush()
