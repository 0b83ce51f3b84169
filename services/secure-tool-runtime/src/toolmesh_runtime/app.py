"""Puts a worker together from its configuration, and runs it until it is asked to stop."""

import asyncio
import os
import platform
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final

from toolmesh_broker.catalog import CatalogPublisher
from toolmesh_broker.configured import connection_settings
from toolmesh_broker.heartbeats import beating
from toolmesh_broker.identities import Worker as WorkerIdentity
from toolmesh_broker.jetstream.broker import connect
from toolmesh_broker.ledger import Ledger
from toolmesh_broker.ports import Broker
from toolmesh_broker.settings import ConnectionSettings
from toolmesh_broker.task_scope import task_scope
from toolmesh_contracts.call_steps import CallObserver, observe_nothing
from toolmesh_contracts.envelopes.catalog import Heartbeat
from toolmesh_contracts.names import token
from toolmesh_contracts.worker_config import WorkerConfig
from toolmesh_identity.keys import SealingKeys, VerifyingKeys
from toolmesh_runtime.admission import Verifier
from toolmesh_runtime.declared.command_run import DeclaredCommands
from toolmesh_runtime.declared.turn_workspaces import TurnWorkspaces, turn_workspaces
from toolmesh_runtime.describe import Describer
from toolmesh_runtime.metrics import WorkerMetrics
from toolmesh_runtime.one_call import CallHandler
from toolmesh_runtime.process.confinement import Confinement, publish_sdk
from toolmesh_runtime.running_calls import RunningCalls
from toolmesh_runtime.running_tenants import RunningTenants
from toolmesh_runtime.sandbox_settings import sandbox_settings
from toolmesh_runtime.services.endpoints import endpoint_secrets
from toolmesh_runtime.settlement import Settlement
from toolmesh_runtime.tool_calls import ToolCalls
from toolmesh_runtime.toolset_updates import ToolsetUpdates
from toolmesh_runtime.toolsets.discovery import Discovery, DiscoverySettings
from toolmesh_runtime.worker import Worker
from toolmesh_sandbox.base_folder import open_base
from toolmesh_sandbox.opening import open_backend
from toolmesh_telemetry.health_checks import CheckResult
from toolmesh_telemetry.health_server import serve_health
from toolmesh_telemetry.logs import get_logger
from toolmesh_telemetry.redaction import Redactor

__all__ = ["run_worker", "running_worker"]

_log: Final = get_logger(__name__)
_RENEW_S: Final = 2.0
"""A third of the consumers' ack_wait, and of the shortest lease."""
_SLOTS_PER_CPU: Final = 2
_MAX_PROBLEMS: Final = 100
_MEMORY_PER_SLOT: Final = 256 * 1024 * 1024


async def run_worker(
    config: WorkerConfig, folder: Path, redactor: Redactor, observer: CallObserver = observe_nothing
) -> None:
    """Run a worker until SIGTERM or SIGINT; then drain.

    Args:
        config: The worker's configuration.
        folder: Where its relative file names start.
        redactor: Knows the secrets that logs must not show.
        observer: Awaited at the worker's steps of each call.

    Raises:
        ConfigError, BrokerError, SandboxError, KeyFileError, HealthServerError: it can't start, or lost its broker.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    try:
        async with running_worker(config, folder, redactor, observer) as worker:
            await worker.run(stop)
        _log.info("stopped")
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)


@asynccontextmanager
async def running_worker(
    config: WorkerConfig, folder: Path, redactor: Redactor, observer: CallObserver = observe_nothing
) -> AsyncIterator[Worker]:
    """Connect, read the toolsets, announce them, and hand out a worker that is ready to pull."""
    name = config.worker_id or token(f"{platform.node()}-{os.getpid()}").replace("=", "-")
    identity = WorkerIdentity(config.pool, name).name
    connection = connection_settings(config.broker, folder, namespace=config.namespace, identity=identity)
    verifier = Verifier(
        namespace=config.namespace,
        pool=config.pool,
        issuer=config.keys.issuer_name,
        issuer_keys=VerifyingKeys.from_file(folder / config.keys.issuer),
        executor_keys=VerifyingKeys.from_file(folder / config.keys.executors),
        sealing_keys=SealingKeys.from_file(folder / config.keys.sealing),
    )
    redactor.add(*(text for endpoint in config.services for text in endpoint_secrets(endpoint)))
    metrics = WorkerMetrics()
    async with AsyncExitStack() as stack:
        sandbox = sandbox_settings(config, folder)
        backend = await stack.enter_async_context(open_backend(sandbox))
        base = open_base(sandbox.base)
        confinement = Confinement(backend, await publish_sdk(base, config.sandbox.python))
        discovery = _discovery(config, folder, confinement, base, _secret_files(config, folder, connection))
        await discovery.read()
        broker = await stack.enter_async_context(connect(connection))
        group = await stack.enter_async_context(task_scope())
        turns = await stack.enter_async_context(turn_workspaces(backend, broker.payloads(config.pool)))
        worker = _worker(config, name, broker, verifier, discovery, turns, metrics, redactor, observer)
        publisher = CatalogPublisher(broker)
        await stack.enter_async_context(publisher.running())
        updates = ToolsetUpdates(
            pool=config.pool,
            worker=name,
            discovery=discovery,
            publisher=publisher,
            metrics=metrics,
            reconcile_s=config.reconcile_seconds,
        )
        updates.publish()
        await stack.enter_async_context(beating(broker, _heartbeat(config, name, worker, discovery)))
        describer = Describer(
            worker=name, verifier=verifier, discovery=discovery, confinement=discovery.confinement, redactor=redactor
        )
        asked = broker.subjects.describe_pool(config.pool)
        await stack.enter_async_context(broker.subscribe(asked, describer.answer, queue="describe", concurrency=2))
        await publisher.published()
        health = await stack.enter_async_context(
            serve_health(
                config.health.host,
                config.health.port,
                {"broker": _broker_check(broker), "tools": _tools_check(discovery)},
                metrics.metrics.registry,
                redactor=redactor,
            )
        )
        for task in (group.create_task(updates.follow()), group.create_task(broker.lost())):
            stack.callback(task.cancel)
        tools = sorted(discovery.inventory.tools)
        _log.info("ready", health_port=health.port, worker=name, pool=config.pool, tools=tools, slots=worker.slots)
        yield worker


def _secret_files(config: WorkerConfig, folder: Path, connection: ConnectionSettings) -> tuple[Path, ...]:
    """Return what no mount of a declared tool may show: this configuration, keys and credentials."""
    keys = (folder / path for path in (config.keys.issuer, config.keys.executors, config.keys.sealing))
    credentials = (path for path in (connection.nkey_seed_file, connection.credentials_file) if path is not None)
    return (folder, *keys, *credentials)


def _discovery(
    config: WorkerConfig, folder: Path, confinement: Confinement, base: Path, hidden: tuple[Path, ...]
) -> Discovery:
    settings = DiscoverySettings(
        toolsets=tuple(folder / path for path in config.toolsets),
        pool=config.pool,
        base=base,
        probe_limit_s=config.discovery_seconds,
        default_timeout_s=config.default_timeout_seconds,
        default_profile=config.sandbox.default_profile,
        default_python=config.sandbox.python,
        output_bytes=config.limits.output_bytes,
        retry_s=config.reconcile_seconds,
        hidden=hidden,
        services=config.services,
    )
    return Discovery(settings, confinement)


def _worker(
    config: WorkerConfig,
    name: str,
    broker: Broker,
    verifier: Verifier,
    discovery: Discovery,
    turns: TurnWorkspaces,
    metrics: WorkerMetrics,
    redactor: Redactor,
    observer: CallObserver,
) -> Worker:
    calls = RunningCalls()
    slots = _slots() if config.concurrency == "auto" else config.concurrency
    metrics.slots.set(slots)
    handler = CallHandler(
        worker=name,
        broker=broker,
        verifier=verifier,
        discovery=discovery,
        ledger=Ledger(broker),
        settlement=Settlement(broker, name, metrics, observer),
        tool_calls=ToolCalls(
            worker=name,
            broker=broker,
            confinement=discovery.confinement,
            payloads=broker.payloads(config.pool),
            limits=config.limits,
            redactor=redactor,
            metrics=metrics,
            declared=DeclaredCommands(discovery.confinement.backend, turns, config.services),
            observer=observer,
        ),
        calls=calls,
        metrics=metrics,
        lease_s=config.lease_seconds,
        renew_s=_RENEW_S,
        observer=observer,
    )
    worker = Worker(
        name=name,
        pool=config.pool,
        slots=slots,
        tenants=RunningTenants(config.max_running_per_tenant),
        drain_s=config.drain_seconds,
        broker=broker,
        handler=handler,
        calls=calls,
    )
    metrics.running.set_function(lambda: worker.busy)
    return worker


def _slots() -> int:
    """Return how many calls this machine can run at once: by its CPUs, and by its memory where that is less."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(1, min(_SLOTS_PER_CPU * len(os.sched_getaffinity(0)), memory // _MEMORY_PER_SLOT))


def _heartbeat(config: WorkerConfig, name: str, worker: Worker, discovery: Discovery) -> Callable[[], Heartbeat]:
    started_ms = time.time_ns() // 1_000_000

    def beat() -> Heartbeat:
        inventory = discovery.inventory
        return Heartbeat(
            instance=name,
            pool=config.pool,
            kind="worker",
            started_ms=started_ms,
            slots=worker.slots,
            running=worker.busy,
            tools=len(inventory.tools),
            draining=worker.draining,
            problems=inventory.problems[:_MAX_PROBLEMS],
        )

    return beat


def _broker_check(broker: Broker) -> Callable[[], Awaitable[CheckResult]]:
    async def check() -> CheckResult:
        return CheckResult(ok=broker.connected, detail="connected" if broker.connected else "no connection")

    return check


def _tools_check(discovery: Discovery) -> Callable[[], Awaitable[CheckResult]]:
    async def check() -> CheckResult:
        inventory = discovery.inventory
        problems = "; ".join(f"{each.source}: {each.tool}: {each.message}" for each in inventory.problems)
        detail = f"{len(inventory.tools)} tools" + (f"; left out: {problems}" if problems else "")
        return CheckResult(ok=bool(inventory.tools), detail=detail)

    return check
