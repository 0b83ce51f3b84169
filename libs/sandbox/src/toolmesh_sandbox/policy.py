"""A sandbox policy as data: what a command may see, use and reach. A backend enforces it or refuses it."""

import dataclasses
import enum
from pathlib import Path, PurePosixPath

from toolmesh_sandbox.errors import PolicyInvalidError
from toolmesh_sandbox.limits import Limits, ResourceLimits

WORKSPACE_INSIDE = PurePosixPath("/work")
OUTBOX_INSIDE = PurePosixPath("/outbox")
"""Where a workspace in memory has its outbox: beside it, because nothing may be mounted below what a tool can write."""
DATA_INSIDE = PurePosixPath("/data")
TMP_INSIDE = "/tmp"  # noqa: S108 - of the sandbox's own
SHARED_INSIDE = "/dev/shm"  # noqa: S108 - of the sandbox's own
"""Where the C library keeps POSIX shared memory and semaphores."""

# What bwrap itself makes, shows or lets a tool write: no mount may land on, below or above these.
_TAKEN = tuple(
    PurePosixPath(name)
    for name in (
        WORKSPACE_INSIDE,
        OUTBOX_INSIDE,
        *(TMP_INSIDE, "/dev", "/proc", "/sys", "/usr", "/etc", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"),
        *("/var", "/run"),
    )
)


class Network(enum.StrEnum):
    """What the command can reach."""

    NONE = "none"
    HOST = "host"


class SystemView(enum.StrEnum):
    """Which of the host's files are shown read-only; `system_view` says exactly which."""

    SYSTEM = "system"
    HOST = "host"


class Storage(enum.StrEnum):
    """Where the workspace lies: in a folder of the host, or in memory with a size, a number of files and an outbox."""

    HOST = "host"
    MEMORY = "memory"


@dataclasses.dataclass(frozen=True)
class Mount:
    """A folder or file of the host shown in the sandbox.

    Attributes:
        source: absolute path on the host; the tool's uid must be able to reach it.
        target: absolute path inside. Backends without a mount namespace show `source` instead.
        read_only: False lets the tool write there.
    """

    source: Path
    target: PurePosixPath
    read_only: bool = True

    def __post_init__(self) -> None:
        for name, path in (("source", PurePosixPath(self.source)), ("target", self.target)):
            if not path.is_absolute() or ".." in path.parts or "\0" in str(path):
                raise PolicyInvalidError(f"mount {name} {str(path)!r} is not a plain absolute path")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Policy:
    """Everything that a backend needs to know about one call's confinement.

    Attributes:
        profile: name of the profile that this policy started from, for logs and messages.
        network: what the command can reach.
        system: which host files it sees.
        limits: kernel limits.
        mounts: toolset, SDK, volumes. No target may lie below another one, below the workspace or below a system
            folder: a planted symlink would make bwrap create files on the host (CVE-2026-87766).
        wall_clock_s: seconds until the whole sandbox is killed; the real time limit, as CPU is counted per process.
        stdout_bytes: bytes of standard output that are kept; the rest is read, counted and dropped.
        stderr_bytes: the same for standard error.
        storage: where its workspace lies.
        sessions: the command may make sessions and process groups.
        shared_memory: it may use System V and POSIX shared memory, semaphores and message queues; under bubblewrap
            those of this call alone, with a /dev/shm of its own.
        unix_sockets: it may connect to a socket file that was put into its workspace. Where the network is the host's,
            a kernel with Landlock 6 (Linux 6.12) keeps it from the host's abstract sockets.
        tmp: it may write to a /tmp of its own.
        exact_environment: it sees the given variables and no other; otherwise bubblewrap adds `PWD`.
        folder: where it starts, a path inside. The target of a mount, or the workspace.

    Raises:
        PolicyInvalidError: nested or reserved mount targets, or a number out of range.
    """

    profile: str
    network: Network
    system: SystemView
    limits: Limits
    mounts: tuple[Mount, ...] = ()
    wall_clock_s: float = 300.0
    stdout_bytes: int = 10 * 1024 * 1024
    stderr_bytes: int = 10 * 1024 * 1024
    storage: Storage = Storage.HOST
    sessions: bool = True
    shared_memory: bool = True
    unix_sockets: bool = False
    tmp: bool = True
    exact_environment: bool = False
    folder: PurePosixPath = WORKSPACE_INSIDE

    def __post_init__(self) -> None:
        if not 0 < self.wall_clock_s <= 7 * 86400:
            raise PolicyInvalidError(f"wall_clock_s is {self.wall_clock_s}", "give seconds above 0, at most 7 days")
        for name in ("stdout_bytes", "stderr_bytes"):
            if getattr(self, name) < 1:
                raise PolicyInvalidError(f"{name} is {getattr(self, name)}", "give at least 1 byte")
        taken = list(_TAKEN)
        for mount in self.mounts:
            for other in taken:
                if mount.target.is_relative_to(other) or other.is_relative_to(mount.target):
                    raise PolicyInvalidError(
                        f"mount target {mount.target} collides with {other}", "choose a folder of its own, like /data"
                    )
            taken.append(mount.target)

    def with_limits(self, wanted: ResourceLimits) -> "Policy":
        """This policy with a manifest's `resource_limits` in place of the profile's numbers."""
        return dataclasses.replace(self, limits=self.limits.override(wanted))

    def with_mounts(self, *mounts: Mount) -> "Policy":
        """This policy with more mounts."""
        return dataclasses.replace(self, mounts=(*self.mounts, *mounts))

    def with_wall_clock(self, seconds: float) -> "Policy":
        """This policy with another time limit."""
        return dataclasses.replace(self, wall_clock_s=seconds)
