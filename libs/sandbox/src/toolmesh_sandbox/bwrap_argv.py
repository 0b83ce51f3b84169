"""From a policy to bubblewrap's options. Pure: reads the host's folders, starts nothing."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path

from toolmesh_sandbox.launch import FIRST_FILE
from toolmesh_sandbox.limits import Rlimit
from toolmesh_sandbox.policy import WORKSPACE_INSIDE, Network, Policy
from toolmesh_sandbox.system_view import system_arguments

PRLIMIT = "/usr/bin/prlimit"
INSIDE_ID = "1000"


@dataclasses.dataclass(frozen=True, kw_only=True)
class BwrapHost:
    """What the start-up probe found out about this machine, and what is the same for every call.

    Attributes:
        program: the bubblewrap that every tool uid can execute.
        etc: folder with the published files of /etc.
        disable_userns: `--disable-userns` works here.
        hidden: host paths that no tool may see.
    """

    program: Path
    etc: Path
    disable_userns: bool
    hidden: tuple[Path, ...]


def bwrap_command(argv: Sequence[str], rlimits: Sequence[Rlimit]) -> tuple[str, ...]:
    """The part that the process table shows: bubblewrap, its descriptors, and the command behind its limits.

    The options come by a descriptor, because an argument vector is world-readable. NPROC has to be set inside the new
    user namespace, where it counts this sandbox alone, so all limits are set there, by prlimit.
    """
    options = [f"--{limit.name.lower()}={limit.soft}:{limit.hard}" for limit in rlimits]
    own = ["bwrap", "--args", str(FIRST_FILE), "--json-status-fd", str(FIRST_FILE + 1)]
    return (*own, "--", PRLIMIT, *options, "--", *argv)


def bwrap_options(policy: Policy, env: Mapping[str, str], workspace: Path, host: BwrapHost) -> bytes:
    """Everything for `--args`, NUL-separated. The order counts: later mounts lie over earlier ones.

    Nothing is mounted below the workspace, /tmp or another mount (`Policy` refuses it), and the root is made
    read-only last.
    """
    options = ["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    if policy.network is Network.NONE:
        options.append("--unshare-net")
    if host.disable_userns:
        options.append("--disable-userns")
    options += ["--uid", INSIDE_ID, "--gid", INSIDE_ID, "--hostname", "tool"]
    options += ["--die-with-parent", "--cap-drop", "ALL"]
    options += system_arguments(policy, host.etc, host.hidden)
    options += ["--dev", "/dev", "--remount-ro", "/dev"]
    options += ["--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys"]
    for name in ("/proc/keys", "/proc/key-users"):
        if Path(name).exists():
            options += ["--ro-bind", "/dev/null", name]
    for mount in policy.mounts:
        options += ["--ro-bind" if mount.read_only else "--bind", str(mount.source), str(mount.target)]
    options += ["--perms", "1777", "--size", str(policy.tmp_bytes), "--tmpfs", "/tmp"]  # noqa: S108 - inside
    options += ["--bind", str(workspace), str(WORKSPACE_INSIDE)]
    options += ["--remount-ro", "/", "--chdir", str(WORKSPACE_INSIDE), "--clearenv"]
    for name, value in env.items():
        options += ["--setenv", name, value]
    return b"".join(option.encode(errors="surrogateescape") + b"\0" for option in options)
