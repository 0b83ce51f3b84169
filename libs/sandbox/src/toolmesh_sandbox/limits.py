"""Resource limits of one call, and the five overrides a manifest may state."""

import dataclasses
import resource
from typing import NamedTuple

from toolmesh_sandbox.errors import PolicyInvalidError

MEBIBYTE = 1024 * 1024


class Rlimit(NamedTuple):
    """One kernel limit: its name without `RLIMIT_`, soft and hard value in the kernel's own unit."""

    name: str
    soft: int
    hard: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class ResourceLimits:
    """The `resource_limits` of a manifest entry; what is None keeps the profile's number.

    Raises:
        PolicyInvalidError: a value that is not a whole number of at least 1.
    """

    max_cpu_seconds: int | None = None
    max_file_size_mb: int | None = None
    max_open_files: int | None = None
    max_processes: int | None = None
    max_stack_size_mb: int | None = None

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise PolicyInvalidError(
                    f"resource_limits.{field.name} is {value!r}", "give a whole number of at least 1, or leave it out"
                )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Limits:
    """What one call may use. There is no address-space limit: Go and V8 reserve far more than they use.

    Attributes:
        cpu_s: CPU seconds of each process; at the limit SIGXCPU, one second later SIGKILL.
        file_bytes: largest file that a process may write, sparse files and memfds too.
        open_files: descriptors of each process.
        processes: processes and threads; counted in the sandbox's own user namespace where there is one.
        stack_bytes: stack of each process, and the default of each thread.
        locked_bytes: memory that a process may lock.
        queue_bytes: POSIX message queues.
        memory_bytes: memory of the whole sandbox, its files in memory included: by cgroup where one can be made,
            otherwise by looking at the processes' resident memory every 50 ms. What goes beyond is killed.
        data_bytes: private writable memory of each process, stacks of threads included (RLIMIT_DATA): a second net.
        disk_bytes: size of a workspace in memory, of its outbox, and of /tmp, each by itself.
        shared_bytes: size of /dev/shm. What is there counts as memory of the sandbox, mapped or not.
        disk_files: files and folders in a workspace, in an outbox in memory, in /tmp and in /dev/shm, each by itself.
            In the last two they are counted ten times a second; what goes beyond is killed.
        workspace_bytes: what a call may add to a workspace on the host, looked at about ten times a second. What goes
            beyond it, or beyond `disk_files`, is killed.
        nice: CPU priority, 0 (the worker's) to 19 (lowest).
    """

    cpu_s: int
    file_bytes: int
    open_files: int
    processes: int
    stack_bytes: int
    locked_bytes: int
    queue_bytes: int
    memory_bytes: int
    data_bytes: int
    disk_bytes: int
    shared_bytes: int
    disk_files: int
    workspace_bytes: int
    nice: int

    def override(self, wanted: ResourceLimits) -> "Limits":
        """These limits with the numbers of a manifest entry in place of the profile's."""
        changed = {
            "cpu_s": wanted.max_cpu_seconds,
            "file_bytes": _mebibytes(wanted.max_file_size_mb),
            "open_files": wanted.max_open_files,
            "processes": wanted.max_processes,
            "stack_bytes": _mebibytes(wanted.max_stack_size_mb),
        }
        return dataclasses.replace(self, **{name: value for name, value in changed.items() if value is not None})

    def rlimits(self) -> tuple[Rlimit, ...]:
        """The limits as the kernel takes them; every hard limit is finite, so none can be raised again."""
        return (
            Rlimit("CPU", self.cpu_s, self.cpu_s + 1),
            Rlimit("FSIZE", self.file_bytes, self.file_bytes),
            Rlimit("NOFILE", self.open_files, self.open_files),
            Rlimit("NPROC", self.processes, self.processes),
            Rlimit("DATA", self.data_bytes, self.data_bytes),
            Rlimit("STACK", self.stack_bytes, self.stack_bytes),
            Rlimit("MEMLOCK", self.locked_bytes, self.locked_bytes),
            Rlimit("MSGQUEUE", self.queue_bytes, self.queue_bytes),
            Rlimit("SIGPENDING", 256, 256),
            Rlimit("RTPRIO", 0, 0),
            Rlimit("NICE", 0, 0),
            # 1 and not 0: the kernel still starts a piped core handler at 0, but not at 1 (fs/coredump.c).
            Rlimit("CORE", 1, 1),
        )


def affordable(wanted: tuple[Rlimit, ...]) -> tuple[Rlimit, ...]:
    """The limits, lowered to the hard limits of this process where they are above: nobody can raise a hard limit."""
    return tuple(_lowered(limit, resource.getrlimit(getattr(resource, f"RLIMIT_{limit.name}"))[1]) for limit in wanted)


def _lowered(limit: Rlimit, ceiling: int) -> Rlimit:
    if ceiling == resource.RLIM_INFINITY:
        return limit
    return Rlimit(limit.name, min(limit.soft, ceiling), min(limit.hard, ceiling))


def _mebibytes(count: int | None) -> int | None:
    return None if count is None else count * MEBIBYTE
