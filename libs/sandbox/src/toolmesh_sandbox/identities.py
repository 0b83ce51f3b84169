"""Who a tool runs as. A root worker lends each call a uid of its own, so that no two calls ever share one."""

import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from toolmesh_sandbox.base_folder import subfolder
from toolmesh_sandbox.errors import SandboxExhaustedError

_OF_THE_MACHINE: Final = Path("/run/toolmesh-uids")
"""A call's processes are ended by their uid, so workers with different base folders must not lend the same one."""


def uid_locks(base: Path) -> Path:
    """Return the folder of root's lock files: the machine's, or the base folder's where /run can't be written."""
    try:
        _OF_THE_MACHINE.mkdir(mode=0o700, exist_ok=True)
        found = _OF_THE_MACHINE.lstat()
    except OSError:
        return subfolder(base, "uids", 0o700)
    ours = stat.S_ISDIR(found.st_mode) and found.st_uid == 0 and stat.S_IMODE(found.st_mode) == stat.S_IRWXU
    return _OF_THE_MACHINE if ours and os.access(_OF_THE_MACHINE, os.W_OK) else subfolder(base, "uids", 0o700)


class Identities:
    """Lends uids through lock files, so that all workers of a machine draw from one stock.

    A lock file is never removed: who removed one could lock a file that nobody else sees. The lock goes with the
    worker, however it ends.
    """

    def __init__(self, base: Path, first: int, count: int) -> None:
        self._first = first
        self._count = count
        self._next = 0
        self._locks = uid_locks(base) if os.getuid() == 0 else None

    @property
    def most(self) -> int | None:
        """How many can be lent at a time; None when the worker can't change its own."""
        return None if self._locks is None else self._count

    @contextmanager
    def lease(self) -> Iterator[int | None]:
        """A uid (and gid of the same number) for one call, or None when the worker can't change its own.

        Raises:
            SandboxExhaustedError: every uid of the range is in use.
        """
        if self._locks is None:
            yield None
            return
        uid, lock = self._take(self._locks)
        try:
            yield uid
        finally:
            os.close(lock)

    def _take(self, locks: Path) -> tuple[int, int]:
        busy = _uids_with_processes()
        for _ in range(self._count):
            uid = self._first + self._next
            self._next = (self._next + 1) % self._count
            if uid in busy:
                continue
            lock = os.open(locks / str(uid), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(lock)
                continue
            return uid, lock
        raise SandboxExhaustedError(
            f"all {self._count} uids from {self._first} are in use", "raise `uid_count`, or run fewer calls at a time"
        )


def _uids_with_processes() -> set[int]:
    """Owners of running processes: a uid that something else uses, or a killed worker left behind, is not lent."""
    owners = set()
    for entry in Path("/proc").iterdir() if Path("/proc").is_dir() else ():
        if entry.name.isdigit():
            try:
                owners.add(entry.stat().st_uid)
            except (FileNotFoundError, ProcessLookupError):
                continue
    return owners
