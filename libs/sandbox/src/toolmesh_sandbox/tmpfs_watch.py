"""How full the folders in memory are that bubblewrap makes for one call: it can't limit their number of files.

An empty file takes no byte of such a folder's size, but about a kilobyte of the kernel's memory. One look asks the
kernel for its own count, so it costs the same however many files there are.
"""

import os
import socket
import time
from collections.abc import Sequence
from typing import NamedTuple

from toolmesh_sandbox import process_tree

_LOOK_S = 0.1
_PLACE = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC if hasattr(os, "O_PATH") else 0


class Held(NamedTuple):
    """What a folder holds now, files that are deleted but open among it."""

    bytes: int
    files: int


class TmpfsWatch:
    """Watches the folders of one call, each by itself.

    Attributes:
        look_at: when `exceeded` should be asked next, by the monotonic clock.
    """

    def __init__(self, folders: Sequence[str], most_files: int, uid: int | None) -> None:
        """Nothing is opened yet.

        Args:
            folders: paths inside the sandbox.
            most_files: files and folders that each of them may hold.
            uid: who the command runs as, when that is not who watches.
        """
        self._folders = folders
        self._most_files = most_files
        self._uid = uid
        self._places: list[int] = []
        self.look_at = time.monotonic() + _LOOK_S if folders else float("inf")

    def exceeded(self, bwrap: int) -> bool:
        """Whether a folder of the sandbox that this bubblewrap keeps has too many files."""
        self.look_at = time.monotonic() + _LOOK_S
        return any(held.files > self._most_files for held in self._look(bwrap))

    def held_bytes(self, bwrap: int) -> int:
        """Memory that the content of all the folders takes, mapped or not."""
        return sum(held.bytes for held in self._look(bwrap))

    def close(self) -> None:
        """Let go of the folders, so that the kernel can drop them."""
        for place in self._places:
            os.close(place)
        self._places = []

    def _look(self, bwrap: int) -> list[Held]:
        if self._folders and not self._places:
            self._places = self._opened(bwrap)
        found = map(os.fstatvfs, self._places)
        return [Held((each.f_blocks - each.f_bfree) * each.f_frsize, each.f_files - each.f_ffree) for each in found]

    def _opened(self, bwrap: int) -> list[int]:
        """Open the folders once the command runs: before that, the paths could still be those of the host."""
        first = next((child for child in process_tree.children(bwrap) if process_tree.children(child)), None)
        if first is None:
            return []
        paths = [f"/proc/{first}/root{folder}" for folder in self._folders]
        try:
            places = _open_as_able(paths, self._uid)
        except OSError:
            return []  # it has just ended, or there is no descriptor or process left for a look: the next one may do
        self._places = places
        try:
            if process_tree.parent(first) == bwrap:
                return places
        except OSError:
            pass
        self.close()
        return []


def _open_as_able(paths: Sequence[str], uid: int | None) -> list[int]:
    try:
        return _open(paths)
    except PermissionError:
        if uid is None:
            raise
    return _open_as(uid, paths)  # root without CAP_SYS_PTRACE may not look there itself


def _open(paths: Sequence[str]) -> list[int]:
    places: list[int] = []
    try:
        places.extend(os.open(path, _PLACE) for path in paths)
    except OSError:
        for place in places:
            os.close(place)
        raise
    return places


def _open_as(uid: int, paths: Sequence[str]) -> list[int]:
    """Open folders in a child that has become another user; nothing where that fails too."""
    mine, theirs = socket.socketpair()
    with mine, theirs:
        child = os.fork()
        if child == 0:
            try:
                os.setgroups([])
                os.setresgid(uid, uid, uid)
                os.setresuid(uid, uid, uid)
                socket.send_fds(theirs, [b"."], _open(paths))
            finally:
                os._exit(0)
        theirs.close()
        try:
            return list(socket.recv_fds(mine, 1, len(paths), socket.MSG_CMSG_CLOEXEC)[1])
        finally:
            os.waitpid(child, 0)
