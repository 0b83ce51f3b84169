"""Makes a child process end when this one does, even when this one is killed with SIGKILL."""

import ctypes
import os
import signal
import sys
from collections.abc import Callable
from typing import Final

__all__ = ["die_with_parent"]

_PR_SET_PDEATHSIG: Final = 1  # linux/prctl.h
_PARENT_GONE: Final = 143


def die_with_parent() -> Callable[[], None] | None:
    """Return what the child runs between fork and exec; None where the system has no such signal (macOS).

    Linux sends the signal when the *thread* that forked ends, so fork only from the main thread.
    """
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None).prctl  # resolved here: after a fork nothing may be loaded
    parent = os.getpid()

    def in_child() -> None:
        prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
        if os.getppid() != parent:
            os._exit(_PARENT_GONE)

    return in_child
