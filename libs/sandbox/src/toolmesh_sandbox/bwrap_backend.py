"""The backend `bwrap`: namespaces, a file system of its own, and limits."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path, PurePosixPath

from toolmesh_sandbox.backend import Backend, filter_rules
from toolmesh_sandbox.bwrap_argv import BwrapHost, bwrap_command, bwrap_options, own_folders
from toolmesh_sandbox.errors import PolicyInvalidError
from toolmesh_sandbox.launch import Launch
from toolmesh_sandbox.limits import affordable
from toolmesh_sandbox.memory_workspaces import memory_workspace
from toolmesh_sandbox.policy import OUTBOX_INSIDE, WORKSPACE_INSIDE, Mount, Network, Policy, Storage
from toolmesh_sandbox.seccomp.rules import assemble
from toolmesh_sandbox.settings import Mode
from toolmesh_sandbox.spawner_client import Spawner
from toolmesh_sandbox.workspaces import Workspace, Workspaces


class BwrapBackend(Backend):
    """Each command in its own user, pid, mount, ipc and uts namespace, and for `Network.NONE` its own network.

    bubblewrap is started with an empty environment, by a keeper that outlives it, and never as uid 0.
    """

    mode = Mode.BWRAP

    def __init__(self, spawner: Spawner, workspaces: Workspaces, host: BwrapHost, cgroup: Path | None = None) -> None:
        super().__init__(spawner, workspaces, host.level, cgroup)
        self.host = host

    def check(self, policy: Policy) -> None:
        """Every policy can be enforced."""

    def workspace(self, policy: Policy) -> AbstractAsyncContextManager[Workspace]:
        """In memory where the policy says so."""
        if policy.storage is Storage.MEMORY:
            return memory_workspace(self.workspaces, self._spawner, policy.limits.disk_bytes, policy.limits.disk_files)
        return self.workspaces.new()

    def inside(self, workspace: Workspace) -> PurePosixPath:
        """Always /work."""
        return WORKSPACE_INSIDE

    def outbox(self, workspace: Workspace) -> PurePosixPath:
        """/outbox for a workspace in memory, /work/output otherwise."""
        return super().outbox(workspace) if workspace.memory is None else OUTBOX_INSIDE

    def path_inside(self, mount: Mount) -> PurePosixPath:
        """The mount's target."""
        return mount.target

    def plan(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        policy: Policy,
        workspace: Workspace,
        *,
        connected: bool = False,
    ) -> tuple[Launch, tuple[bytes, ...]]:
        """A bwrap command line, its options and the system call filter.

        Raises:
            PolicyInvalidError: the policy wants a workspace in memory, and this one is not.
        """
        if policy.storage is Storage.MEMORY and workspace.memory is None:
            raise PolicyInvalidError(
                f"profile {policy.profile!r} wants a workspace in memory", "take one from `Backend.workspace`"
            )
        launch = Launch(
            program=str(self.host.program),
            argv=bwrap_command(argv, policy, connected=connected),
            env={},
            cwd="/",
            uid=workspace.uid,
            nice=policy.limits.nice,
            rlimits=affordable(policy.limits.rlimits()),
            wall_clock_s=policy.wall_clock_s,
            bwrap=True,
            joins=workspace.memory is not None,
            memory_bytes=policy.limits.memory_bytes,
            cgroup=str(self._cgroup or ""),
            disk="" if workspace.memory is not None else str(workspace.host),
            disk_bytes=policy.limits.workspace_bytes,
            disk_files=policy.limits.disk_files,
            tmpfs=own_folders(policy),
            scoped=policy.unix_sockets and policy.network is Network.HOST,
        )
        return launch, (bwrap_options(policy, env, workspace, self.host), assemble(filter_rules(policy)))
