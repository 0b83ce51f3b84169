"""How much memory a process tree holds, for machines where no cgroup can be made to limit it."""

import os
from pathlib import Path

from toolmesh_sandbox.process_tree import descendants

_PROC = Path("/proc")
_PAGE = os.sysconf("SC_PAGE_SIZE")


def exceeds(pid: int, limit: int) -> bool:
    """Whether everything below a process holds more than so many bytes.

    Resident memory counts what processes share once for each of them, so a tree over the limit is counted again with
    shared pages divided among those that share them, which is slower.
    """
    tree = list(descendants(pid))
    return sum(map(_resident, tree)) > limit and sum(map(_proportional, tree)) > limit


def _resident(pid: int) -> int:
    try:
        return int((_PROC / str(pid) / "statm").read_text().split()[1]) * _PAGE
    except (OSError, IndexError):
        return 0


def _proportional(pid: int) -> int:
    try:
        text = (_PROC / str(pid) / "smaps_rollup").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    except OSError:
        return _resident(pid)  # not ours to read, as a process that made itself undumpable
    line = next((line for line in text.splitlines() if line.startswith("Pss:")), "")
    return int(line.split()[1]) * 1024 if line else 0
