"""The backends without namespaces: `prlimit-only` and `direct`."""

from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from toolmesh_sandbox.backend import Backend, filter_rules
from toolmesh_sandbox.errors import PolicyRefusedError
from toolmesh_sandbox.ladder import Level
from toolmesh_sandbox.launch import Launch
from toolmesh_sandbox.limits import affordable
from toolmesh_sandbox.policy import Mount, Network, Policy
from toolmesh_sandbox.seccomp.rules import assemble
from toolmesh_sandbox.settings import Mode
from toolmesh_sandbox.workspaces import Workspace


class PlainBackend(Backend):
    """A command in its own session with a clean environment, no privileges to gain, a time limit and output caps.

    A root worker runs it under a uid of its own and ends it by that uid. Otherwise it has the worker's uid and can
    read what the worker can. This is `direct`: files, network and resources are not confined.
    """

    mode = Mode.DIRECT
    _limited = False

    def check(self, policy: Policy) -> None:
        """Nothing is promised, so nothing is refused; the operator has asked for this by a flag."""

    def inside(self, workspace: Workspace) -> PurePosixPath:
        """The host's path."""
        return PurePosixPath(workspace.host)

    def path_inside(self, mount: Mount) -> PurePosixPath:
        """The mount's source."""
        return PurePosixPath(mount.source)

    def plan(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        policy: Policy,
        workspace: Workspace,
        *,
        connected: bool = False,
    ) -> tuple[Launch, tuple[bytes, ...]]:
        """The command itself, which keeps the descriptors that it is given."""
        launch = Launch(
            program=argv[0],
            argv=tuple(argv),
            env=dict(env),
            cwd=str(_folder(policy, workspace)),
            uid=workspace.uid,
            nice=policy.limits.nice,
            rlimits=affordable(policy.limits.rlimits()) if self._limited else (),
            wall_clock_s=policy.wall_clock_s,
            bwrap=False,
            joins=False,
            memory_bytes=policy.limits.memory_bytes if self._limited else 0,
            cgroup=str(self._cgroup or "") if self._limited else "",
            disk=str(workspace.host) if self._limited else "",
            disk_bytes=policy.limits.workspace_bytes,
            disk_files=policy.limits.disk_files,
            writable=self._writable(policy, workspace),
            filter=self._filter(policy).hex(),
        )
        return launch, ()

    def _filter(self, policy: Policy) -> bytes:
        return b""

    def _writable(self, policy: Policy, workspace: Workspace) -> tuple[str, ...]:
        return ()


class PrlimitBackend(PlainBackend):
    """As `direct`, with kernel limits, memory limit and system call filter, for policies that promise a network.

    Where the kernel has Landlock, nothing but the workspace, writable mounts and /tmp can be changed, and from Linux
    6.12 no process of others signalled.

    The limit of processes counts all of the uid, so for a worker that is not root it includes the worker's own.
    """

    mode = Mode.PRLIMIT_ONLY
    _limited = True

    def check(self, policy: Policy) -> None:
        """Refuse a policy that promises a closed network.

        Raises:
            PolicyRefusedError: `policy.network` is `NONE`.
        """
        if policy.network is Network.NONE:
            raise PolicyRefusedError(
                f"profile {policy.profile!r} promises no network, which mode prlimit-only can't enforce",
                "use mode bwrap, or a profile with network",
            )

    def _filter(self, policy: Policy) -> bytes:
        return assemble(filter_rules(policy, pid_namespace=False)) if self.level is Level.FILTER_ONLY else b""

    def _writable(self, policy: Policy, workspace: Workspace) -> tuple[str, ...]:
        mounts = (str(mount.source) for mount in policy.mounts if not mount.read_only)
        return (str(workspace.host), *mounts, *(["/tmp"] if policy.tmp else []))  # noqa: S108 - as under bwrap


def _folder(policy: Policy, workspace: Workspace) -> Path:
    """Where the command starts: what is mounted there, or the workspace."""
    return next((mount.source for mount in policy.mounts if mount.target == policy.folder), workspace.host)
