"""Settings of the C allocator, so that a worker gives back what large outputs and results took."""

import ctypes
import sys
from typing import Final

__all__ = ["give_memory_back"]

_ARENA_MAX: Final = -8
_MMAP_THRESHOLD: Final = -3
_ARENAS: Final = 2
_THRESHOLD_BYTES: Final = 128 * 1024


def give_memory_back() -> None:
    """Take large blocks from the kernel one by one, and share few arenas among threads. Does nothing without glibc.

    glibc raises the size from which on it does so with every large block that is freed, and lays the next ones into
    arenas, one for each thread, whose ends hardly ever become free: a worker then grows for days. Call it before the
    first thread is started. Source: mallopt(3).
    """
    if not sys.platform.startswith("linux"):
        return
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):
        library.mallopt(_MMAP_THRESHOLD, _THRESHOLD_BYTES)
        library.mallopt(_ARENA_MAX, _ARENAS)
