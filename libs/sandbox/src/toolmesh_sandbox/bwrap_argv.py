"""From a policy to bubblewrap's options. Pure: reads the host's folders, starts nothing."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path

from toolmesh_sandbox.ladder import Level
from toolmesh_sandbox.launch import CONNECTION
from toolmesh_sandbox.memory_folders import OUTBOX, WORK
from toolmesh_sandbox.policy import OUTBOX_INSIDE, SHARED_INSIDE, TMP_INSIDE, WORKSPACE_INSIDE, Network, Policy
from toolmesh_sandbox.system_view import system_arguments
from toolmesh_sandbox.workspaces import Workspace

_ENV = "/usr/bin/env"
INSIDE_ID = "1000"


@dataclasses.dataclass(frozen=True, kw_only=True)
class BwrapHost:
    """What the start-up probe found out about this machine, and what is the same for every call.

    Attributes:
        program: the bubblewrap that every tool uid can execute.
        etc: folder with the published files of /etc.
        level: what of bubblewrap works here.
        hidden: host paths that no tool may see.
    """

    program: Path
    etc: Path
    level: Level
    hidden: tuple[Path, ...]


def bwrap_command(argv: Sequence[str], policy: Policy, *, connected: bool = False) -> tuple[str, ...]:
    """The part that the process table shows: bubblewrap, its descriptors, and the command.

    The options come by a descriptor, because an argument vector is world-readable. Bubblewrap closes its own
    descriptors before it executes the command, and leaves a connection open.
    """
    own = ["bwrap"]
    first = CONNECTION + connected
    for number, option in enumerate(("--args", "--seccomp", "--json-status-fd", "--block-fd"), start=first):
        own += [option, str(number)]
    without_pwd = (_ENV, "-u", "PWD", "--") if policy.exact_environment else ()
    return (*own, "--", *without_pwd, *argv)


def bwrap_options(policy: Policy, env: Mapping[str, str], workspace: Workspace, host: BwrapHost) -> bytes:
    """Everything for `--args`, NUL-separated. The order counts: later mounts lie over earlier ones.

    Nothing is mounted below the workspace, the outbox, /tmp, /dev/shm or another mount (`Policy` refuses it), and the
    root is made read-only last.
    """
    options = ["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    if policy.network is Network.NONE:
        options.append("--unshare-net")
    if host.level < Level.USER_NAMESPACES_LEFT:
        options.append("--disable-userns")
    options += ["--uid", INSIDE_ID, "--gid", INSIDE_ID, "--hostname", "tool"]
    options += ["--die-with-parent", "--cap-drop", "ALL"]
    options += system_arguments(policy, host.etc, host.hidden)
    options += ["--dev", "/dev"]
    if policy.shared_memory:
        options += _own_folder(SHARED_INSIDE, policy.limits.shared_bytes)
    options += ["--remount-ro", "/dev"]
    options += _proc(host.level)
    for mount in policy.mounts:
        options += ["--ro-bind" if mount.read_only else "--bind", str(mount.source), str(mount.target)]
    if policy.tmp:
        options += _own_folder(TMP_INSIDE, policy.limits.disk_bytes)
    if workspace.memory is None:
        options += ["--bind", str(workspace.host), str(WORKSPACE_INSIDE)]
    else:
        options += ["--bind", str(workspace.host / WORK), str(WORKSPACE_INSIDE)]
        options += ["--bind", str(workspace.host / OUTBOX), str(OUTBOX_INSIDE)]
    options += ["--remount-ro", "/", "--chdir", str(policy.folder), "--clearenv"]
    for name, value in env.items():
        options += ["--setenv", name, value]
    return b"".join(option.encode(errors="surrogateescape") + b"\0" for option in options)


def own_folders(policy: Policy) -> tuple[str, ...]:
    """The folders in memory that bubblewrap makes for a command; their number of files it can't limit."""
    return (*([TMP_INSIDE] if policy.tmp else []), *([SHARED_INSIDE] if policy.shared_memory else []))


def _own_folder(path: str, size: int) -> list[str]:
    return ["--perms", "1777", "--size", str(size), "--tmpfs", path]


def _proc(level: Level) -> list[str]:
    if level >= Level.NO_PROC:
        return ["--dir", "/proc"]
    options = ["--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys"]
    for name in ("/proc/keys", "/proc/key-users"):
        if Path(name).exists():
            options += ["--ro-bind", "/dev/null", name]
    return options
