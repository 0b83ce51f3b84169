"""Puts an executor together from its configuration, and runs it until it is asked to stop."""

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn

from toolmesh_broker.configured import connection_settings
from toolmesh_broker.heartbeats import EXECUTORS_POOL, beating
from toolmesh_broker.identities import Executor as ExecutorIdentity
from toolmesh_broker.jetstream.broker import connect
from toolmesh_broker.ports import Broker
from toolmesh_broker.task_scope import task_scope
from toolmesh_client.client import Client
from toolmesh_client.connect import client_over
from toolmesh_client.errors import CallNotSignedInError
from toolmesh_client.settings import ClientSettings
from toolmesh_contracts.agent_config.agent import AgentConfig
from toolmesh_contracts.envelopes.catalog import Heartbeat
from toolmesh_contracts.executor_config import ExecutorConfig
from toolmesh_executor.agent_files import AgentFiles
from toolmesh_executor.agent_loops import AgentLoops
from toolmesh_executor.agent_reload import AgentReload
from toolmesh_executor.dispatch import Dispatcher, TokenVerifier
from toolmesh_executor.mesh_agents import summary_of, watched_agents
from toolmesh_executor.metrics import ExecutorMetrics
from toolmesh_executor.models.call_proof import CallVerifier
from toolmesh_executor.models.choice import DEFAULT_VARIABLE, ModelChoice
from toolmesh_executor.models.client import ModelClient
from toolmesh_executor.models.endpoints import Endpoints
from toolmesh_executor.models.tool_models import ToolModels
from toolmesh_executor.problems import ProblemBoard
from toolmesh_executor.registry import AgentTools
from toolmesh_executor.running_agents import ReadAgents, RunningAgents, read_agents
from toolmesh_executor.tasks.running import TaskRunner, running_tasks
from toolmesh_identity.keys import SealingPublicKey, SigningKey, VerifyingKeys
from toolmesh_telemetry.health_checks import CheckResult
from toolmesh_telemetry.health_server import serve_health
from toolmesh_telemetry.logs import get_logger
from toolmesh_telemetry.redaction import Redactor

__all__ = ["Executor", "run_executor", "running_executor"]

_log: Final = get_logger(__name__)
_MAX_PROBLEMS: Final = 100


@dataclass(frozen=True, slots=True)
class Executor:
    """A running executor.

    Attributes:
        agents: Each agent's tools, by its name.
        dispatcher: Calls them for callers with a token.
        client: What the calls go through.
        board: What is wrong now.
        health_port: Where its health is served.
    """

    agents: Mapping[str, AgentTools]
    dispatcher: Dispatcher
    client: Client
    board: ProblemBoard
    health_port: int


async def run_executor(
    config: ExecutorConfig, folder: Path, environment: Mapping[str, str], redactor: Redactor
) -> None:
    """Run an executor until SIGTERM or SIGINT.

    Args:
        config: The executor's configuration.
        folder: Where its relative file names start.
        environment: Variables that agent files may use.
        redactor: Knows the secrets that logs must not show.

    Raises:
        ConfigError, BrokerError, KeyFileError, HealthServerError: it can't start, or lost its broker for good.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    try:
        async with running_executor(config, folder, environment, redactor):
            await stop.wait()
        _log.info("stopped")
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)


@asynccontextmanager
async def running_executor(
    config: ExecutorConfig, folder: Path, environment: Mapping[str, str], redactor: Redactor
) -> AsyncIterator[Executor]:
    """Load the agents, connect, keep the catalog in view, and hand out an executor that is ready to dispatch."""
    settings = _client_settings(config, folder)
    verifier = TokenVerifier(
        keys=VerifyingKeys.from_file(folder / config.keys.issuer),
        namespace=config.namespace,
        issuer=config.keys.issuer_name,
    )
    files = AgentFiles([folder / path for path in config.agents], config.namespace, environment)
    reload = AgentReload(files)
    read = read_agents(files.load())
    endpoints = Endpoints(config.models.providers, environment)
    redactor.add(*read.secrets(), *endpoints.secrets())
    running_agents = RunningAgents(read)
    agents = running_agents.tools
    _tell_problems(read)
    choice = ModelChoice(running_agents.models, config.models.default or environment.get(DEFAULT_VARIABLE, ""))
    async with AsyncExitStack() as stack:
        broker = await stack.enter_async_context(connect(settings.connection))
        client = await stack.enter_async_context(client_over(broker, settings))
        board = ProblemBoard(running_agents, client)
        metrics = ExecutorMetrics(agents, client, board)
        group = await stack.enter_async_context(task_scope())
        watching = group.create_task(board.watch())
        stack.callback(watching.cancel)
        models = await stack.enter_async_context(ModelClient.open())
        tool_models = ToolModels(
            verifier=_call_verifier(config, folder, settings, verifier.keys),
            choice=choice,
            endpoints=endpoints,
            client=models,
            limits=config.models.for_tools,
            on_answered=metrics.answered,
        )
        await stack.enter_async_context(tool_models.answering(broker, config.keys.sealing))
        await stack.enter_async_context(
            beating(broker, _heartbeat(config, agents, client, board, choice.default, running_agents.configs))
        )
        checks = {"broker": _broker_check(broker), "agents": _agents_check(agents, board)}
        health = await stack.enter_async_context(
            serve_health(config.health.host, config.health.port, checks, metrics.registry, redactor=redactor)
        )
        dispatcher = Dispatcher(agents, client, verifier, metrics.ended)
        mesh = await stack.enter_async_context(watched_agents(broker))
        loops = AgentLoops(running_agents.configs, choice, endpoints, models, dispatcher, mesh, broker, metrics.turn)
        running = running_tasks(broker, loops, verifier, config.executor_id, config.tasks.parallel)
        tasks = await stack.enter_async_context(running)
        metrics.running_tasks(lambda: tasks.running)
        following = group.create_task(reload.follow(_reloading(running_agents, board, tasks, redactor)))
        stack.callback(following.cancel)
        _log.info("ready", health_port=health.port, executor=config.executor_id, agents=sorted(agents))
        yield Executor(agents, dispatcher, client, board, health.port)


def _client_settings(config: ExecutorConfig, folder: Path) -> ClientSettings:
    identity = ExecutorIdentity(config.executor_id).name
    return ClientSettings(
        executor=config.executor_id,
        connection=connection_settings(config.broker, folder, namespace=config.namespace, identity=identity),
        signing_key=SigningKey.from_file(folder / config.keys.signing),
        tokens=_no_token,
        sealing_keys={pool: SealingPublicKey.from_file(folder / path) for pool, path in config.keys.sealing.items()},
    )


def _call_verifier(
    config: ExecutorConfig, folder: Path, settings: ClientSettings, issuer_keys: VerifyingKeys
) -> CallVerifier:
    own = settings.signing_key.verifying
    return CallVerifier(
        namespace=config.namespace,
        issuer=config.keys.issuer_name,
        issuer_keys=issuer_keys,
        executor_keys=VerifyingKeys.from_file(folder / config.keys.executors) if config.keys.executors else own,
    )


async def _no_token() -> NoReturn:
    # An executor is nobody: each call carries the token of who asked for it.
    raise CallNotSignedInError("an executor calls nothing without a caller's token")


def _reloading(
    agents: RunningAgents, board: ProblemBoard, tasks: TaskRunner, redactor: Redactor
) -> Callable[[ReadAgents], None]:
    def take(read: ReadAgents) -> None:
        redactor.add(*read.secrets())
        agents.replace(read)
        tasks.serve(agents.configs)
        _log.info("agents read again", agents=sorted(agents.tools))
        board.tell()

    return take


def _tell_problems(read: ReadAgents) -> None:
    for problem in read.problems:
        _log.warning("agent left out", problem=str(problem))


def _heartbeat(
    config: ExecutorConfig,
    agents: Mapping[str, AgentTools],
    client: Client,
    board: ProblemBoard,
    model: str,
    configs: Mapping[str, AgentConfig],
) -> Callable[[], Heartbeat]:
    started_ms = time.time_ns() // 1_000_000

    def beat() -> Heartbeat:
        return Heartbeat(
            instance=config.executor_id,
            pool=EXECUTORS_POOL,
            kind="executor",
            started_ms=started_ms,
            running=client.open_calls,
            tools=sum(len(tools.tools) + len(tools.local) for tools in agents.values()),
            problems=board.problems[:_MAX_PROBLEMS],
            agents=tuple(summary_of(one) for one in configs.values()),
            model=model,
        )

    return beat


def _broker_check(broker: Broker) -> Callable[[], Awaitable[CheckResult]]:
    async def check() -> CheckResult:
        return CheckResult(ok=broker.connected, detail="connected" if broker.connected else "no connection")

    return check


def _agents_check(agents: Mapping[str, AgentTools], board: ProblemBoard) -> Callable[[], Awaitable[CheckResult]]:
    async def check() -> CheckResult:
        # Names only, since a check's text is short; log and heartbeat have the reasons. A broken toolset or a tool
        # without a worker never stops the others, so it is said, not failed.
        missing = ", ".join(f"{each.tool or each.source} ({each.code})" for each in board.problems)
        return CheckResult(ok=True, detail=f"{len(agents)} agents" + (f"; without {missing}" if missing else ""))

    return check
