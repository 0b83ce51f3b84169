"""What every backend offers: refuse or enforce a policy, name paths inside, start a command."""

import abc
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path, PurePosixPath

from toolmesh_sandbox.errors import PolicyInvalidError
from toolmesh_sandbox.ladder import Level
from toolmesh_sandbox.launch import Launch
from toolmesh_sandbox.policy import Mount, Network, Policy
from toolmesh_sandbox.process import SandboxProcess, run
from toolmesh_sandbox.seccomp.rules import FilterRules
from toolmesh_sandbox.self_test_report import ProfileReport
from toolmesh_sandbox.settings import Mode
from toolmesh_sandbox.spawner_client import Spawner
from toolmesh_sandbox.workspaces import Workspace, Workspaces


class Backend(abc.ABC):
    """Runs commands under policies. Made by `opening.open_backend`.

    Attributes:
        mode: which backend this is.
        workspaces: makes the work folders of calls.
        level: what of the isolation works here.
        proofs: what the self-test found out about each profile; empty until it has run.
    """

    mode: Mode

    def __init__(self, spawner: Spawner, workspaces: Workspaces, level: Level, cgroup: Path | None) -> None:
        self._spawner = spawner
        self.workspaces = workspaces
        self.level = level
        self._cgroup = cgroup
        self.proofs: tuple[ProfileReport, ...] = ()

    @property
    def memory_bound(self) -> str:
        """By what the memory of a call is bounded: `cgroup`, `watcher` or `nothing`."""
        if self.level >= Level.NOTHING:
            return "nothing"
        return "watcher" if self._cgroup is None else "cgroup"

    @abc.abstractmethod
    def check(self, policy: Policy) -> None:
        """Do nothing if this backend enforces the policy in full.

        Raises:
            PolicyRefusedError: it can't; the message names the promise.
        """

    def workspace(self, policy: Policy) -> AbstractAsyncContextManager[Workspace]:
        """A workspace as the policy wants it, for one call, or for several calls of a turn one after another.

        Raises:
            SandboxExhaustedError: every uid is in use.
            SandboxUnavailableError: this machine can't give it.
        """
        self.check(policy)
        return self.workspaces.new()

    @abc.abstractmethod
    def inside(self, workspace: Workspace) -> PurePosixPath:
        """Path of the workspace as the command sees it."""

    def outbox(self, workspace: Workspace) -> PurePosixPath:
        """Path of the folder for what the command returns, as it sees it; `Workspace.outbox` is the same outside."""
        return self.inside(workspace) / "output"

    @abc.abstractmethod
    def path_inside(self, mount: Mount) -> PurePosixPath:
        """Path of a mount as the command sees it."""

    @abc.abstractmethod
    def plan(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        policy: Policy,
        workspace: Workspace,
        *,
        connected: bool = False,
    ) -> tuple[Launch, tuple[bytes, ...]]:
        """What to execute, and the contents of its descriptors from 3 on, or from 4 on if it is `connected`."""

    def start(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        policy: Policy,
        workspace: Workspace,
        stdin: bytes = b"",
        connection: int | None = None,
    ) -> AbstractAsyncContextManager[SandboxProcess]:
        """Start a command in the workspace; leaving the context kills what is left of it and waits until it is gone.

        Args:
            argv: the command, with paths as they are inside.
            env: its whole environment.
            policy: its confinement.
            workspace: its working directory and the only place, beside /tmp and /dev/shm, where it can write.
            stdin: its standard input; empty gives /dev/null.
            connection: a descriptor that the command has as number `CONNECTION`; it stays open here.

        Raises:
            PolicyRefusedError: this backend can't enforce the policy.
            PolicyInvalidError: an argument or variable that can't be passed on.
            SandboxUnavailableError: the spawner process can't be started again.
        """
        _check_command(argv, env)
        self.check(policy)
        launch, files = self.plan(argv, env, policy, workspace, connected=connection is not None)
        joins = () if workspace.memory is None else workspace.memory.namespaces
        return run(self._spawner, launch, files, policy, stdin, joins, connection)


def filter_rules(policy: Policy, *, pid_namespace: bool = True) -> FilterRules:
    """The system call filter that a policy asks for."""
    return FilterRules(
        network=policy.network is Network.HOST,
        sessions=policy.sessions,
        shared_memory=policy.shared_memory,
        unix_sockets=policy.unix_sockets,
        pid_namespace=pid_namespace,
    )


def _check_command(argv: Sequence[str], env: Mapping[str, str]) -> None:
    if not argv or not argv[0]:
        raise PolicyInvalidError("the command is empty")
    for word in argv:
        if "\0" in word:
            raise PolicyInvalidError(f"argument {word!r} holds a NUL character")
    for name, value in env.items():
        if not name or "=" in name or "\0" in name + value:
            raise PolicyInvalidError(f"environment variable {name!r} has a name or value that can't be passed on")
