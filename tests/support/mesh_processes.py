"""Which processes belong to a mesh, read from /proc."""

from collections.abc import Iterable
from pathlib import Path


def processes_of(data_folder: Path) -> dict[int, str]:
    """Return the command lines of processes that were started with a path below `data_folder`, by id."""
    return processes_with(f"{data_folder}/")


def processes_with(text: str) -> dict[int, str]:
    """Return the command lines that hold `text`, by process id."""
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if text in command:
            found[int(entry.name)] = command
    return found


def alive(pids: Iterable[int]) -> list[int]:
    """Return those that still run; a zombie doesn't."""
    running = []
    for pid in pids:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if state != "Z":
            running.append(pid)
    return running
