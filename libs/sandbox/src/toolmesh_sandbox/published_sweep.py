"""Remove published trees that no worker has asked for in a long time."""

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from toolmesh_sandbox.base_folder import subfolder
from toolmesh_sandbox.published import PUBLISHED, is_staging
from toolmesh_sandbox.tree_removal import remove_tree

KEPT_S: Final = 24 * 3600.0
"""How long a tree stays after it was last asked for, so that a restart finds it, in seconds."""

_LOCK: Final = ".lock"


@contextmanager
def using_published(base: Path) -> Iterator[None]:
    """Hold the published trees for as long as the block lasts; whoever comes when nobody holds them sweeps first.

    A worker's trees may be older than `KEPT_S` while it runs, so nothing is removed beside one.
    """
    shelves = subfolder(base, *PUBLISHED)
    lock = os.open(shelves / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _sweep(shelves, time.time() - KEPT_S)
        fcntl.flock(lock, fcntl.LOCK_SH)
        yield
    finally:
        os.close(lock)


def _sweep(shelves: Path, before: float) -> None:
    """Remove the trees that were last asked for before that time, and what was never finished."""
    for tree in (tree for shelf in shelves.iterdir() if shelf.is_dir() for tree in shelf.iterdir()):
        if is_staging(tree) or tree.lstat().st_mtime < before:
            remove_tree(tree)
