"""How much memory a process tree holds, for machines where no cgroup can be made to limit it."""

import os
from pathlib import Path
from typing import NamedTuple

from toolmesh_sandbox.process_tree import descendants

_PROC = Path("/proc")
_PAGE = os.sysconf("SC_PAGE_SIZE")


def exceeds(pid: int, limit: int, in_files: int = 0) -> bool:
    """Whether everything below a process holds more than so many bytes.

    Resident memory counts what processes share once for each of them, so a tree over the limit is counted again with
    shared pages divided among those that share them, which is slower.

    Args:
        pid: the process.
        limit: bytes.
        in_files: bytes in files in memory, of which what is mapped is part of the processes' memory, too.
    """
    tree = list(descendants(pid))
    if sum(map(_resident, tree)) + in_files <= limit:
        return False
    parts = [_proportional(process) for process in tree]
    unmapped = max(0, in_files - sum(part.shared for part in parts))
    return sum(part.all for part in parts) + unmapped > limit


class _Part(NamedTuple):
    """One process's part of the memory: all of it, and what of that is files in memory or shared without a file."""

    all: int
    shared: int


def _resident(pid: int) -> int:
    try:
        return int((_PROC / str(pid) / "statm").read_text().split()[1]) * _PAGE
    except (OSError, IndexError):
        return 0


def _proportional(pid: int) -> _Part:
    try:
        lines = (_PROC / str(pid) / "smaps_rollup").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return _Part(0, 0)
    except OSError:
        return _Part(_resident(pid), 0)  # not ours to read, as a process that made itself undumpable
    counts = {name: int(value.split()[0]) * 1024 for name, _, value in (line.partition(":") for line in lines[1:])}
    return _Part(counts.get("Pss", 0), counts.get("Pss_Shmem", 0))
