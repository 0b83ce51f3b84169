"""Counts what a worker holds: processes, mounts, files, users, descriptors, queued calls. Other people's are not counted."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path

from toolmesh_sandbox.identities import uid_locks
from toolmesh_sandbox.process_tree import descendants

_PROC = Path("/proc")
_SHARED_FOLDERS = (Path("/tmp"), Path("/var/tmp"), Path("/dev/shm"))  # noqa: S108
_IPC = ("shm", "sem", "msg")


@dataclass(frozen=True)
class Territory:
    """What belongs to one worker, and to nobody else.

    Attributes:
        worker: its process.
        base: its work folder.
        uids: the users that it lends to calls.
        groups: a memory cgroup of its own, in which the groups of its calls are; None where there is none.
    """

    worker: int
    base: Path
    uids: range
    groups: Path | None = None


@dataclass(frozen=True)
class Census:
    """What was there at one time, by name, so that a leak can be named."""

    processes: frozenset[str]
    mounts: frozenset[str]
    files: frozenset[str]
    uids: frozenset[str]
    ipc: frozenset[str]
    cgroups: frozenset[str]
    queued: frozenset[str]
    descriptors: int

    def leaks_since(self, before: "Census") -> list[str]:
        """What is more than before, one line each."""
        leaks = []
        for field in fields(self):
            now, then = getattr(self, field.name), getattr(before, field.name)
            if isinstance(now, int):
                leaks += [f"{field.name}: {now}, before {then}"] if now > then else []
            else:
                leaks += [f"{field.name}: {name}" for name in sorted(now - then)]
        return leaks


def take_census(territory: Territory, queued: int) -> Census:
    """Look at everything now; `queued` calls are in the broker's queue."""
    own = [territory.worker, *descendants(territory.worker)]
    return Census(
        processes=frozenset(_described(pid) for pid in {*own, *_processes_of(territory.uids)}),
        mounts=frozenset(
            line for line in (_PROC / "self/mountinfo").read_text().splitlines() if str(territory.base) in line
        ),
        files=frozenset(_files(territory)),
        uids=frozenset(_lent(territory)),
        ipc=frozenset(_ipc(territory.uids)),
        cgroups=frozenset() if territory.groups is None else frozenset(_folders(territory.groups)),
        queued=frozenset([f"{queued} calls"] if queued else []),
        descriptors=sum(len(list((_PROC / str(pid) / "fd").iterdir())) for pid in own),
    )


def resident_bytes(pid: int) -> int:
    """Resident memory of a process."""
    return int((_PROC / str(pid) / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _described(pid: int) -> str:
    try:
        stat = (_PROC / str(pid) / "stat").read_text()
    except OSError:
        return f"{pid} that just ended"
    name, _, rest = stat.rpartition(")")
    return f"{name}) {'zombie' if rest.split()[0] == 'Z' else 'running'}"


def _processes_of(uids: range) -> Iterator[int]:
    for entry in _PROC.iterdir():
        if entry.name.isdigit():
            try:
                owner = entry.stat().st_uid
            except OSError:
                continue
            if owner in uids:
                yield int(entry.name)


def _files(territory: Territory) -> Iterator[str]:
    for folder, names, files in os.walk(territory.base):
        if folder == str(territory.base):
            names[:] = [name for name in names if name != "uids"]  # lock files stay on purpose, where they are here
        yield from (f"{folder}/{name}" for name in (*names, *files))
    for shared in _SHARED_FOLDERS:
        for path in shared.iterdir():
            with suppress(FileNotFoundError):
                if path.lstat().st_uid in territory.uids:
                    yield str(path)


def _lent(territory: Territory) -> Iterator[str]:
    if os.getuid() != 0:
        return
    for path in uid_locks(territory.base).iterdir():
        if int(path.name) not in territory.uids:
            continue
        with path.open("rb") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield path.name


def _ipc(uids: range) -> Iterator[str]:
    for kind in _IPC:
        table = (_PROC / "sysvipc" / kind).read_text().splitlines()
        column = table[0].split().index("uid")
        yield from (f"{kind} {row}" for row in table[1:] if int(row.split()[column]) in uids)


def _folders(groups: Path) -> Iterator[str]:
    yield from (str(path) for path in groups.iterdir() if path.is_dir())
