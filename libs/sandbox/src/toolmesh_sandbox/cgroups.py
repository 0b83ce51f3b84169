"""A memory cgroup for each call, where this worker may make one. Whether it may is found out by doing it.

Version 1: a folder below the worker's own memory cgroup. Version 2 allows no processes in a group that has limited
children, so there the folder lies beside the worker's own cgroup, which whoever starts the worker has to prepare
(systemd: `Delegate=memory` and `DelegateSubgroup=`).
"""

import os
import secrets
from contextlib import suppress
from pathlib import Path

_NAME = "toolmesh-"
_PROBED_BYTES = 64 * 1024 * 1024


def find_parent(proc: Path = Path("/proc/self")) -> Path | None:
    """The folder below which calls get memory cgroups, or None where none can be made, limited and entered."""
    for parent in _candidates(proc):
        if _works(parent):
            sweep(parent)
            return parent
    return None


def _candidates(proc: Path) -> list[Path]:
    try:
        groups = [line.split(":", 2) for line in (proc / "cgroup").read_text().splitlines()]
        mounts = [line.split() for line in (proc / "mountinfo").read_text().splitlines()]
    except OSError:
        return []
    found = []
    for fields in mounts:
        kind, options = fields[fields.index("-") + 1], fields[-1].split(",")
        for _number, controllers, path in groups:
            version_1 = kind == "cgroup" and "memory" in options and "memory" in controllers.split(",")
            version_2 = kind == "cgroup2" and controllers == ""
            below = _below(path, fields[3])
            if below is None or not (version_1 or version_2):
                continue
            own = Path(fields[4]) / below
            found.append(own if version_1 else own.parent)
    return found


def _below(path: str, root: str) -> str | None:
    """A cgroup's path relative to the root that a mount shows; None when the mount doesn't show it."""
    if root == "/":
        return path.lstrip("/")
    return path.removeprefix(root).lstrip("/") if path == root or path.startswith(f"{root}/") else None


def _works(parent: Path) -> bool:
    version_2 = (parent / "cgroup.subtree_control").exists()
    try:
        if version_2 and "memory" not in (parent / "cgroup.subtree_control").read_text().split():
            return False
        group = CallGroup(parent, _PROBED_BYTES)
    except OSError:
        return False
    child = os.fork()
    if child == 0:
        try:
            group.enter()
            os._exit(0)
        finally:
            os._exit(1)
    entered = os.waitpid(child, 0)[1] == 0
    group.remove()
    return entered


def sweep(parent: Path) -> None:
    """Remove the empty groups whose makers, which the names tell, were killed."""
    for folder in parent.glob(f"{_NAME}*-*"):
        if not Path("/proc", folder.name.removeprefix(_NAME).partition("-")[0]).exists():
            with suppress(OSError):
                folder.rmdir()


class CallGroup:
    """The cgroup of one call.

    Raises:
        OSError: it can't be made or limited.
    """

    def __init__(self, parent: Path, limit_bytes: int) -> None:
        self._folder = parent / f"{_NAME}{os.getpid()}-{secrets.token_hex(4)}"
        self._folder.mkdir()
        self._version_2 = (self._folder / "memory.max").exists()
        try:
            if self._version_2:
                self._write("memory.max", limit_bytes)
                self._write("memory.oom.group", 1)
                with suppress(OSError):
                    self._write("memory.swap.max", 0)
            else:
                self._write("memory.limit_in_bytes", limit_bytes)
                with suppress(OSError):
                    self._write("memory.memsw.limit_in_bytes", limit_bytes)
        except OSError:
            self.remove()
            raise

    def _write(self, name: str, value: int) -> None:
        (self._folder / name).write_text(str(value))

    def enter(self) -> None:
        """Move this process into the group.

        Raises:
            OSError: it may not.
        """
        self._write("cgroup.procs", 0 if self._version_2 else os.getpid())

    def peak_bytes(self) -> int:
        """Most memory that the group held at a time, its files in memory included; 0 where the kernel doesn't say."""
        try:
            return int((self._folder / ("memory.peak" if self._version_2 else "memory.max_usage_in_bytes")).read_text())
        except (OSError, ValueError):
            return 0

    def ran_out(self) -> bool:
        """Whether the kernel killed a process of the group because it was full."""
        try:
            text = (self._folder / ("memory.events" if self._version_2 else "memory.oom_control")).read_text()
        except OSError:
            return False
        counts = dict(line.split() for line in text.splitlines())
        return counts.get("oom_kill", "0") != "0"

    def remove(self) -> None:
        """Remove the empty group."""
        with suppress(OSError):
            self._folder.rmdir()
