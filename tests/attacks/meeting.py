"""Meets a row's process from outside while it waits for its head, and sees which users the call's processes have."""

import asyncio
import os
from dataclasses import dataclass
from pathlib import Path

from tests.attacks.row_tools import WAITING

_POLL_S = 0.01


@dataclass(frozen=True)
class Met:
    """A row's process that waits.

    Attributes:
        pid: Its id.
        uids: Users (real, effective, saved and for files) of all processes of the call, bubblewrap's own too.
    """

    pid: int
    uids: frozenset[int]

    @property
    def uid(self) -> int:
        """The user of the process."""
        return min(users_of(self.pid))

    def tell(self, head: str) -> None:
        """Give it the line that goes before its code; it goes on at once."""
        descriptor = os.open(f"/proc/{self.pid}/fd/{WAITING}", os.O_WRONLY)
        try:
            os.write(descriptor, head.encode())
        finally:
            os.close(descriptor)


async def meet(marker: str) -> Met:
    """Return the process with `marker` in its command line once it waits."""
    while True:
        found = processes_of(marker.encode())
        waiting = [pid for pid in found if os.path.lexists(f"/proc/{pid}/fd/{WAITING}")]  # noqa: ASYNC240
        if waiting:
            return Met(waiting[0], frozenset().union(*(users_of(pid) for pid in found)))
        await asyncio.sleep(_POLL_S)


def users_of(pid: int) -> frozenset[int]:
    """Ids of the users that a process has; none if it is gone."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return frozenset()
    return frozenset(int(word) for word in status.partition("Uid:")[2].splitlines()[0].split())


def processes_of(text: bytes) -> list[int]:
    """Host pids of processes, bubblewrap included, that have this text in their arguments."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            try:
                if text in (folder / "cmdline").read_bytes():
                    found.append(int(folder.name))
            except OSError:
                continue
    return found
