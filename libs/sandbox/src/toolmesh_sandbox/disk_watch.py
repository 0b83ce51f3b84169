"""How much a call adds to a workspace that lies on the host, where no file system of its own limits it."""

import os
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from toolmesh_sandbox.process_tree import descendants

_PROC = Path("/proc")
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_BLOCK_BYTES = 512
_LOOK_S = 0.1
_SHARE = 10
_DEEPEST = 200
_BEYOND = 2**62


class DiskWatch:
    """Measures one workspace from before the command starts.

    Attributes:
        look_at: when `exceeded` should be asked next, by the monotonic clock.
    """

    def __init__(self, folder: str, most_bytes: int, most_files: int) -> None:
        self._folder = folder
        self._device = os.lstat(folder).st_dev
        self._most_bytes = self._most_files = _BEYOND
        there = self._measure()
        self._most_bytes = there.bytes + most_bytes
        self._most_files = there.files + most_files
        self.look_at = time.monotonic() + _LOOK_S

    def exceeded(self) -> bool:
        """Whether more was added than the limits allow; files that are deleted but still held by a process count."""
        began = time.monotonic()
        found = self._measure()
        if not self._over(found):
            for inode, size in _deleted(self._device):
                found.add(inode, size)
        ended = time.monotonic()
        # Looking costs the call a small part of its time, however large its workspace.
        self.look_at = ended + max(_LOOK_S, _SHARE * (ended - began))
        return self._over(found)

    def _over(self, found: "_Found") -> bool:
        return found.bytes > self._most_bytes or found.files > self._most_files

    def _measure(self) -> "_Found":
        found = _Found()
        with suppress(OSError):  # a worker that may not look at a tool's folder at all
            self._walk(os.open(self._folder, _FOLDER), found, 0)
        return found

    def _walk(self, folder: int, found: "_Found", depth: int) -> None:
        """Add what lies below an open folder, which is closed; stops early when it is too much."""
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if self._over(found):
                        return
                    try:
                        state = entry.stat(follow_symlinks=False)
                    except OSError:
                        continue
                    found.add(state.st_ino, state.st_blocks * _BLOCK_BYTES)
                    if stat.S_ISDIR(state.st_mode):
                        self._enter(entry.name, folder, found, depth + 1)
        finally:
            os.close(folder)

    def _enter(self, name: str, parent: int, found: "_Found", depth: int) -> None:
        if depth > _DEEPEST:
            found.files = _BEYOND + 1
            return
        try:
            folder = os.open(name, _FOLDER, dir_fd=parent)
        except PermissionError:
            # A tool could hide what it writes in a folder that it has closed; root would not be kept out.
            folder = _opened_up(name, parent)
        except OSError:
            return
        if folder >= 0:
            self._walk(folder, found, depth)


class _Found:
    """What was found so far, each file once."""

    def __init__(self) -> None:
        self.bytes = 0
        self.files = 0
        self._seen: set[int] = set()

    def add(self, inode: int, size: int) -> None:
        self.files += 1
        if inode not in self._seen:
            self._seen.add(inode)
            self.bytes += size


def _opened_up(name: str, parent: int) -> int:
    """Make a folder readable for its owner and open it; -1 when that can't be done."""
    try:
        place = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    except OSError:
        return -1
    try:
        path = Path(f"/proc/self/fd/{place}")
        path.chmod(stat.S_IRWXU)
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return -1
    finally:
        os.close(place)


def _deleted(device: int) -> Iterator[tuple[int, int]]:
    """Inode and bytes of the files of a file system that have no name and that processes below this one hold."""
    for pid in descendants(os.getpid()):
        with suppress(OSError):
            yield from _open_files(_PROC / str(pid) / "fd", device)
            yield from _mapped_files(_PROC / str(pid) / "maps", device)


def _open_files(folder: Path, device: int) -> Iterator[tuple[int, int]]:
    for link in folder.iterdir():
        with suppress(FileNotFoundError):
            state = link.stat()
            if state.st_dev == device and state.st_nlink == 0 and stat.S_ISREG(state.st_mode):
                yield state.st_ino, state.st_blocks * _BLOCK_BYTES


def _mapped_files(maps: Path, device: int) -> Iterator[tuple[int, int]]:
    major_minor = f"{os.major(device):02x}:{os.minor(device):02x}"
    for line in maps.read_text(errors="replace").splitlines():
        if line.endswith(" (deleted)"):
            addresses, _mode, _offset, where, inode = line.split()[:5]
            if where == major_minor:
                start, _, end = addresses.partition("-")
                yield int(inode), int(end, 16) - int(start, 16)
