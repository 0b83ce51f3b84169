"""One start order, as the worker hands it to the spawner: plain data, JSON on the way."""

import dataclasses
import json
from typing import Any

from toolmesh_sandbox.limits import Rlimit

CONNECTION = 3
"""Descriptor number of the connection to the worker, in a command that is given one."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Launch:
    """What to execute, as whom, and for how long.

    Attributes:
        program: file to execute; without a slash it is looked up in the `PATH` of `env`.
        argv: the argument vector, the name first.
        env: the whole environment.
        cwd: working directory, entered after the change of uid.
        uid: user and group to become; None stays what the worker is.
        nice: CPU priority to take.
        rlimits: limits of the command.
        wall_clock_s: seconds until everything is killed.
        bwrap: the command is bwrap; the last two descriptors are its `--json-status-fd` and `--block-fd`.
        joins: two more descriptors are a user and a mount namespace, in which the command starts.
        memory_bytes: memory of the whole tree; beyond it is killed.
        cgroup: folder below which the call gets a memory cgroup; empty where that does not work.
        disk: workspace on the host that is measured; empty for none.
        disk_bytes: what the command may add to it; beyond that it is killed.
        disk_files: files and folders that it may add, and that each folder of `tmpfs` may hold.
        tmpfs: folders in memory that bubblewrap makes for the command, as paths inside.
        scoped: keep the command from abstract sockets of the host, where the kernel can.
        writable: folders below which alone a command that is not bwrap may change anything, where the kernel can keep
            it to that; empty for no such limit.
        filter: seccomp program for a command that is not bwrap, as hexadecimal text; empty for none.
    """

    program: str
    argv: tuple[str, ...]
    env: dict[str, str]
    cwd: str
    uid: int | None
    nice: int
    rlimits: tuple[Rlimit, ...]
    wall_clock_s: float
    bwrap: bool
    joins: bool = False
    memory_bytes: int = 0
    cgroup: str = ""
    disk: str = ""
    disk_bytes: int = 0
    disk_files: int = 0
    tmpfs: tuple[str, ...] = ()
    scoped: bool = False
    writable: tuple[str, ...] = ()
    filter: str = ""

    def encode(self) -> bytes:
        """JSON bytes; ASCII, so that any name a file system can hold survives."""
        return json.dumps(dataclasses.asdict(self)).encode("ascii")

    @classmethod
    def decode(cls, data: bytes) -> "Launch":
        """The reverse of `encode`."""
        fields: dict[str, Any] = json.loads(data)
        fields["argv"] = tuple(fields["argv"])
        fields["writable"] = tuple(fields["writable"])
        fields["tmpfs"] = tuple(fields["tmpfs"])
        fields["rlimits"] = tuple(Rlimit(*limit) for limit in fields["rlimits"])
        return cls(**fields)


@dataclasses.dataclass(kw_only=True)
class Report:
    """What became of a launch, as the keeper tells it once the whole process tree is gone.

    Attributes:
        status: wait status of the command; None when it was never executed.
        error: why it was never executed.
        bwrap_status: what bwrap wrote to its status descriptor.
        timed_out: the wall clock ran out.
        killed: it was killed before it ended by itself.
        wall_ms: from start to the end of the command.
        cpu_ms: user and system time of every process of the tree that has been waited for.
        peak_bytes: most memory of the cgroup, or without one the resident size of the largest process.
        read_bytes: read from block devices.
        written_bytes: written to block devices.
        out_of_memory: it went over its memory, and was killed for it.
        out_of_disk: it filled its workspace beyond its limit, and was killed for it.
        leftovers: processes that could not be killed in time.
    """

    status: int | None = None
    error: str = ""
    bwrap_status: str = ""
    timed_out: bool = False
    killed: bool = False
    wall_ms: int = 0
    cpu_ms: int = 0
    peak_bytes: int = 0
    read_bytes: int = 0
    written_bytes: int = 0
    out_of_memory: bool = False
    out_of_disk: bool = False
    leftovers: int = 0

    def encode(self) -> bytes:
        """JSON bytes."""
        return json.dumps(dataclasses.asdict(self)).encode("ascii")

    @classmethod
    def decode(cls, data: bytes) -> "Report":
        """The reverse of `encode`."""
        return cls(**json.loads(data))
