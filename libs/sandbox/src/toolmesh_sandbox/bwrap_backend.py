"""The backend `bwrap`: namespaces, a file system of its own, and limits."""

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from toolmesh_sandbox.backend import Backend
from toolmesh_sandbox.bwrap_argv import BwrapHost, bwrap_command, bwrap_options
from toolmesh_sandbox.launch import Launch
from toolmesh_sandbox.limits import affordable
from toolmesh_sandbox.policy import WORKSPACE_INSIDE, Mount, Policy
from toolmesh_sandbox.settings import Mode
from toolmesh_sandbox.spawner_client import Spawner
from toolmesh_sandbox.workspaces import Workspace, Workspaces


class BwrapBackend(Backend):
    """Each command in its own user, pid, mount, ipc and uts namespace, and for `Network.NONE` its own network.

    bubblewrap is started with an empty environment, by a keeper that outlives it, and never as uid 0.
    """

    mode = Mode.BWRAP

    def __init__(self, spawner: Spawner, workspaces: Workspaces, host: BwrapHost) -> None:
        super().__init__(spawner, workspaces)
        self.host = host

    def check(self, policy: Policy) -> None:
        """Every policy can be enforced."""

    def inside(self, workspace: Workspace) -> PurePosixPath:
        """Always /work."""
        return WORKSPACE_INSIDE

    def path_inside(self, mount: Mount) -> PurePosixPath:
        """The mount's target."""
        return mount.target

    def plan(
        self, argv: Sequence[str], env: Mapping[str, str], policy: Policy, workspace: Workspace
    ) -> tuple[Launch, tuple[bytes, ...]]:
        """A bwrap command line and its options."""
        launch = Launch(
            program=str(self.host.program),
            argv=bwrap_command(argv, affordable(policy.limits.rlimits())),
            env={},
            cwd="/",
            uid=workspace.uid,
            nice=policy.limits.nice,
            rlimits=(),
            wall_clock_s=policy.wall_clock_s,
            files=1,
            bwrap=True,
        )
        return launch, (bwrap_options(policy, env, workspace.host, self.host),)
