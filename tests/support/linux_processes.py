"""What a test looks up about processes in /proc."""

from pathlib import Path

_LISTENING = "0A"


def is_alive(pid: int) -> bool:
    """Whether a process runs; a zombie doesn't."""
    try:
        state = _status(pid)[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def parent_of(pid: int) -> int:
    """Process id of a process's parent."""
    return int(_status(pid)[1])


def environment_names(pid: int) -> set[str]:
    """Names of the variables that a process was started with."""
    entries = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return {entry.partition(b"=")[0].decode() for entry in entries if entry}


def listening_addresses(pid: int) -> list[str]:
    """Local TCP addresses, in the kernel's hexadecimal form, on which a process listens."""
    inodes = set()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        target = str(link.readlink())
        if target.startswith("socket:["):
            inodes.add(target[8:-1])
    found = []
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == _LISTENING and fields[9] in inodes:
                found.append(fields[1])
    return found


def _status(pid: int) -> list[str]:
    """Fields of /proc/PID/stat after the name: state, parent, ..."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
