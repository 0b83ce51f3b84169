"""The backends without namespaces: `prlimit-only` and `direct`."""

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from toolmesh_sandbox.backend import Backend
from toolmesh_sandbox.errors import PolicyRefusedError
from toolmesh_sandbox.launch import Launch
from toolmesh_sandbox.limits import Rlimit, affordable
from toolmesh_sandbox.policy import Mount, Network, Policy
from toolmesh_sandbox.settings import Mode
from toolmesh_sandbox.workspaces import Workspace


class PlainBackend(Backend):
    """A command in its own session with a clean environment, no privileges to gain, a time limit and output caps.

    A root worker runs it under a uid of its own and ends it by that uid. Otherwise it has the worker's uid and can
    read what the worker can. This is `direct`: files, network and resources are not confined.
    """

    mode = Mode.DIRECT

    def check(self, policy: Policy) -> None:
        """Nothing is promised, so nothing is refused; the operator has asked for this by a flag."""

    def inside(self, workspace: Workspace) -> PurePosixPath:
        """The host's path."""
        return PurePosixPath(workspace.host)

    def path_inside(self, mount: Mount) -> PurePosixPath:
        """The mount's source."""
        return PurePosixPath(mount.source)

    def plan(
        self, argv: Sequence[str], env: Mapping[str, str], policy: Policy, workspace: Workspace
    ) -> tuple[Launch, tuple[bytes, ...]]:
        """The command itself."""
        launch = Launch(
            program=argv[0],
            argv=tuple(argv),
            env=dict(env),
            cwd=str(workspace.host),
            uid=workspace.uid,
            nice=policy.limits.nice,
            rlimits=self._rlimits(policy),
            wall_clock_s=policy.wall_clock_s,
            files=0,
            bwrap=False,
        )
        return launch, ()

    def _rlimits(self, policy: Policy) -> tuple[Rlimit, ...]:
        return ()


class PrlimitBackend(PlainBackend):
    """As `direct`, with the policy's kernel limits, and only for policies that promise no closed network.

    The limit of processes counts all of the uid, so for a worker that is not root it includes the worker's own.
    """

    mode = Mode.PRLIMIT_ONLY

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

    def _rlimits(self, policy: Policy) -> tuple[Rlimit, ...]:
        return affordable(policy.limits.rlimits())
