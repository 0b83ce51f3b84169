"""A whole mesh: broker, executor and workers, started together and stopped in order."""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolmesh_broker.identities import Executor, Identity, Operator, Provisioner, Worker
from toolmesh_broker.jetstream.broker import connect as connect_to_broker
from toolmesh_broker.jetstream.layout import LayoutSettings
from toolmesh_cli.agent_files import find_agent_files
from toolmesh_cli.child_environment import executor_environment, worker_environment
from toolmesh_cli.child_process import ChildProgram
from toolmesh_cli.mesh_authorization import AuthorizationSource, authorization_source, read_source, tell_authorization
from toolmesh_cli.mesh_broker import BrokerAccess, mesh_broker
from toolmesh_cli.mesh_catalog import complete_listing
from toolmesh_cli.mesh_files import (
    DRAIN_S,
    client_profile,
    executor_config,
    worker_config,
    write_config,
)
from toolmesh_cli.mesh_listing import MeshListing
from toolmesh_cli.mesh_options import MeshOptions
from toolmesh_cli.mesh_state import MeshState, write_state
from toolmesh_cli.sandbox_check import check_sandbox
from toolmesh_cli.supervisor import KeptProcess, supervise
from toolmesh_cli.terminal import Terminal
from toolmesh_cli.toolset_folders import load_toolsets, load_vessels, split_by_pool
from toolmesh_client.profile import PROFILE_NAME, ClientProfile, write_profile
from toolmesh_contracts.errors import ErrorCode, ToolmeshError
from toolmesh_contracts.manifest import Manifest
from toolmesh_contracts.vessel import Vessel
from toolmesh_identity.development import DevelopmentIssuer

__all__ = ["Mesh", "running_mesh"]

_CLIENT: Final = Executor("client")
_EXECUTOR: Final = Executor("executor-1")
_WEAKER: Final[Mapping[str, str]] = {
    "direct": "tools run WITHOUT isolation: they can read and change whatever you can",
    "prlimit-only": "tools run with limits but without isolation: they can read whatever you can",
}
_READY_S: Final = 60.0
_DRAIN_MARGIN_S: Final = 10.0
_EXECUTOR_GRACE_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class Mesh:
    """A mesh that serves.

    Attributes:
        options: What was asked for.
        profile: How to connect to it.
        listing: What it serves.
        parts: Its processes.
        told: Problems of its files that have been shown already.
    """

    options: MeshOptions
    profile: ClientProfile
    listing: MeshListing
    parts: Sequence[KeptProcess]
    told: frozenset[str] = frozenset()

    def kill(self) -> None:
        """End every child at once."""
        for part in self.parts:
            part.kill()


@dataclass(frozen=True, slots=True)
class _Plan:
    """What was found before anything starts."""

    options: MeshOptions
    agents: tuple[Path, ...]
    authorization: AuthorizationSource | None
    told: frozenset[str]

    @property
    def workers(self) -> tuple[Worker, ...]:
        return tuple(Worker(self.options.pool, f"worker-{number}") for number in range(1, self.options.workers + 1))


@contextlib.asynccontextmanager
async def running_mesh(options: MeshOptions, terminal: Terminal) -> AsyncIterator[Mesh]:
    """Start a mesh and keep it running inside the block; then drain it and stop it.

    Raises:
        ToolmeshError: before anything starts, what is wrong with the options or the files they name.
        ExceptionGroup: a part can't start.
    """
    plan = _plan(options, terminal)
    _make_private(options.data_folder)
    issuer = DevelopmentIssuer.create_or_load(options.data_folder / "keys")
    identities: tuple[Identity, ...] = (_CLIENT, _EXECUTOR, Operator(), *plan.workers)
    profile_file = options.data_folder / PROFILE_NAME
    async with mesh_broker(options, identities, terminal) as broker, _provisioned(broker, options):
        programs = _write_programs(plan, broker, issuer)
        async with supervise(programs, terminal) as parts:
            await _all_ready(parts, terminal)
            profile = client_profile(options, _CLIENT.id, broker.connection(_CLIENT), issuer)
            listing = await complete_listing(profile, [worker.id for worker in plan.workers])
            write_state(options.data_folder, _state(plan))
            write_profile(options.data_folder, profile)
            try:
                yield Mesh(options, profile, listing, parts, plan.told)
            finally:
                profile_file.unlink(missing_ok=True)
            await _drain(parts, terminal)


def _plan(options: MeshOptions, terminal: Terminal) -> _Plan:
    check_sandbox(options.sandbox)
    authorization = authorization_source(options.authorization)
    if authorization is not None:
        tell_authorization(read_source(authorization), terminal)
    if weaker := _WEAKER.get(options.sandbox):
        terminal.warning(weaker)
    manifests = load_toolsets(options.tools)
    vessels = load_vessels(options.tools, manifests, options.pool)
    told = [str(problem) for manifest in manifests for problem in manifest.problems]
    told += [str(problem) for vessel in vessels for problem in vessel.problems]
    for problem in told:
        terminal.warning(problem)
    declared = [name for vessel in vessels for name in vessel.tools]
    tools, elsewhere = split_by_pool(manifests, options.pool, declared)
    if elsewhere:
        terminal.warning(f"not for pool {options.pool}, so not served: {', '.join(elsewhere)}")
    terminal.step("tools", f"{len(tools)} in {_counted(manifests, vessels)}")
    return _Plan(options, find_agent_files(options.agents), authorization, frozenset(told))


def _counted(manifests: Sequence[Manifest], vessels: Sequence[Vessel]) -> str:
    counts = []
    if manifests or not vessels:
        counts.append(f"{len(manifests)} manifest{'' if len(manifests) == 1 else 's'}")
    if vessels:
        counts.append(f"{len(vessels)} agent folder{'' if len(vessels) == 1 else 's'}")
    return " and ".join(counts)


def _make_private(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if folder.stat().st_mode & 0o077:
        folder.chmod(0o700)
    (folder / "logs").mkdir(mode=0o700, exist_ok=True)


@contextlib.asynccontextmanager
async def _provisioned(broker: BrokerAccess, options: MeshOptions) -> AsyncIterator[None]:
    async with (
        connect_to_broker(broker.connection(Provisioner())) as connection,
        connection.provisioned((options.pool,), LayoutSettings.on_servers(options.replicas)),
    ):
        yield


def _write_programs(plan: _Plan, broker: BrokerAccess, issuer: DevelopmentIssuer) -> list[ChildProgram]:
    folder = plan.options.data_folder
    # The places as they were given, not the manifests found there now: toolsets that are added later are served too.
    places = [place.absolute() for place in plan.options.tools]
    programs = []
    for worker in plan.workers:
        config = worker_config(plan.options, worker.id, broker.connection(worker), places, issuer)
        path = write_config(folder, worker.id, config)
        programs.append(_program(worker.id, "toolmesh_runtime", path, folder, worker_environment()))
    config = executor_config(plan.options, _EXECUTOR.id, broker.connection(_EXECUTOR), plan.agents, issuer)
    path = write_config(folder, "executor", config)
    environment = {**executor_environment(), **plan.options.executor_variables}
    return [*programs, _program("executor", "toolmesh_executor", path, folder, environment)]


def _program(name: str, module: str, config: Path, folder: Path, environment: dict[str, str]) -> ChildProgram:
    return ChildProgram(name, (sys.executable, "-m", module, str(config)), environment, folder / "logs" / f"{name}.log")


async def _all_ready(parts: Sequence[KeptProcess], terminal: Terminal) -> None:
    try:
        async with asyncio.timeout(_READY_S), asyncio.TaskGroup() as group:
            for part in parts:
                group.create_task(_tell_ready(part, terminal))
    except TimeoutError as error:
        late = ", ".join(part.program.name for part in parts if not part.ready.is_set())
        raise ToolmeshError(
            f"not ready within {_READY_S:.0f} s: {late}",
            code=ErrorCode.DEADLINE_EXCEEDED,
            hint=f"see the logs in {parts[0].program.log_file.parent}",
        ) from error


async def _tell_ready(part: KeptProcess, terminal: Terminal) -> None:
    await part.ready.wait()
    health = f", health on 127.0.0.1:{part.health_port}" if part.health_port else ""
    terminal.step(part.program.name, f"ready, process {part.pid}{health}")


async def _drain(parts: Sequence[KeptProcess], terminal: Terminal) -> None:
    """Stop the workers first, so that their calls' results still reach who waits for them."""
    workers = [part for part in parts if part.program.name != "executor"]
    others = [part for part in parts if part not in workers]
    terminal.step("stopping", "running calls may finish; Ctrl-C again ends everything at once")
    await _stop_all(workers, DRAIN_S + _DRAIN_MARGIN_S, terminal)
    await _stop_all(others, _EXECUTOR_GRACE_S, terminal)


async def _stop_all(parts: Sequence[KeptProcess], grace_s: float, terminal: Terminal) -> None:
    async def stop(part: KeptProcess) -> None:
        ended_itself = await part.stop(grace_s)
        terminal.step(part.program.name, "stopped" if ended_itself else f"killed after {grace_s:.0f} s")

    async with asyncio.TaskGroup() as group:
        for part in parts:
            group.create_task(stop(part))


def _state(plan: _Plan) -> MeshState:
    agents = tuple(str(path) for path in plan.agents)
    options = plan.options
    return MeshState(
        pool=options.pool,
        workers=options.workers,
        agents=agents,
        replicas=options.replicas,
        authorization=plan.authorization,
    )
