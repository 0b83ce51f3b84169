"""Remove a tree that an enemy made: any depth, any mode, any number of entries, with bounded stack and descriptors."""

import itertools
import os
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_BATCH = 1000


def remove_tree(folder: Path, within_s: float = 30.0) -> bool:
    """Remove a folder with all that it holds, following no link.

    Sub-folders are moved up to the top before they are emptied, so no path ever gets long and nothing recurses.
    Nothing may be running any more that writes there.

    Returns:
        False when something is left: the time ran out, or the system refused.
    """
    try:
        with _opened(str(folder), None) as top:
            if not _empty(top, time.monotonic() + within_s):
                return False
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def empty_folder(folder: int, within_s: float = 30.0) -> bool:
    """Remove all that an open folder holds, with the same care; returns as `remove_tree`."""
    try:
        return _empty(folder, time.monotonic() + within_s)
    except OSError:
        return False


def _empty(top: int, deadline: float) -> bool:
    prefix = f".{secrets.token_hex(8)}-"
    hoisted = (prefix + str(number) for number in itertools.count())
    while names := _first_names(top):
        for name in names:
            if time.monotonic() > deadline:
                return False
            if not _is_folder(name, top):
                os.unlink(name, dir_fd=top)
            elif _hoist(name, top, hoisted, deadline):
                os.rmdir(name, dir_fd=top)
            else:
                return False
    return True


def _hoist(name: str, top: int, hoisted: Iterator[str], deadline: float) -> bool:
    """Empty one folder below the top: unlink its files, move its sub-folders up beside it."""
    with _opened(name, top) as folder:
        while names := _first_names(folder):
            for inner in names:
                if time.monotonic() > deadline:
                    return False
                if _is_folder(inner, folder):
                    _open_up(inner, folder)  # moving a folder writes its `..`
                    os.rename(inner, next(hoisted), src_dir_fd=folder, dst_dir_fd=top)
                else:
                    os.unlink(inner, dir_fd=folder)
    return True


@contextmanager
def _opened(path: str, parent: int | None) -> Iterator[int]:
    _open_up(path, parent)
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _open_up(path: str, parent: int | None) -> None:
    mode = os.stat(path, dir_fd=parent, follow_symlinks=False).st_mode
    if stat.S_ISDIR(mode) and mode & stat.S_IRWXU != stat.S_IRWXU:
        os.chmod(path, stat.S_IRWXU, dir_fd=parent)


def _first_names(folder: int) -> list[str]:
    with os.scandir(folder) as entries:
        return [entry.name for entry in itertools.islice(entries, _BATCH)]


def _is_folder(name: str, parent: int) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)
