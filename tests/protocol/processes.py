"""The processes of a model run: real workers with a tool that only counts, and executors that are the real client."""

import asyncio
import contextvars
import json
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import msgspec
from tests.protocol.network import NetworkBroker, Site
from tests.protocol.virtual_time import VirtualLoop

from toolmesh_broker.ledger import Ledger
from toolmesh_broker.ports import OutgoingInvocation
from toolmesh_broker.reply_listener import ReplyListener
from toolmesh_broker.reply_sender import ReplySender
from toolmesh_client import CallRequest, CallResult, Client, ClientSettings
from toolmesh_client.payloads import OutgoingPayloads
from toolmesh_client.runner import CallRunner
from toolmesh_client.tool_catalog import ToolCatalog
from toolmesh_client.turns import Turn
from toolmesh_contracts.envelopes.catalog import CatalogEntry
from toolmesh_contracts.envelopes.reply import Outcome, Result, StatusState
from toolmesh_contracts.errors import ToolmeshError
from toolmesh_contracts.manifest import ToolManifest
from toolmesh_runtime.admission import AdmittedCall, Verifier
from toolmesh_runtime.metrics import WorkerMetrics
from toolmesh_runtime.one_call import CallHandler
from toolmesh_runtime.running_calls import RunningCalls
from toolmesh_runtime.settlement import Settlement
from toolmesh_runtime.worker import Worker

__all__ = ["TOOLS", "CallRecord", "Effect", "ExecutorProcess", "WorkerProcess", "entry_of", "site_of_tasks"]

TOOLS = {
    "once": ToolManifest(executable="t"),
    "again": ToolManifest(executable="t", idempotent=True, max_attempts=2),
}
_LEASE_S = 6.0
_TOOL_S = 600.0
_DEADLINE_S = 40.0
_site: contextvars.ContextVar[Site | None] = contextvars.ContextVar("site", default=None)


@dataclass(frozen=True)
class Effect:
    """Something that a tool did to the world."""

    invocation: str
    attempt: int
    worker: str


@dataclass(eq=False)
class CallRecord:
    """One call as its caller sees it."""

    number: int
    tool: str
    owner: Site | None = None
    outgoing: OutgoingInvocation | None = None
    """Set once the queue has it."""
    results: list[CallResult] = field(default_factory=list)
    refused: ToolmeshError | None = None
    """Told instead of a result: it is not queued, or that is unknown."""

    @property
    def open(self) -> bool:
        """Whether the caller still waits."""
        return not self.results and self.refused is None


def entry_of(tool: str) -> CatalogEntry:
    """What the catalog says of a tool."""
    manifest = TOOLS[tool]
    return CatalogEntry(
        tool=tool,
        pool="default",
        worker="any",
        version="v1",
        discovered_ms=1,
        description="Counts.",
        parameters=msgspec.Raw(b'{"type":"object"}'),
        timeout_ms=30_000,
        idempotent=manifest.idempotent,
        max_attempts=manifest.max_attempts,
    )


def site_of_tasks(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, Any], **more: Any) -> "asyncio.Task[Any]":
    """A task factory that notes which process a task belongs to."""
    task = asyncio.Task(work, loop=loop, **more)
    site = _site.get()
    if site is not None:
        site.tasks.add(task)
        task.add_done_callback(site.tasks.discard)
    return task


def _start(loop: asyncio.AbstractEventLoop, site: Site, work: Coroutine[Any, Any, Any]) -> None:
    context = contextvars.copy_context()
    context.run(_site.set, site)
    context.run(loop.create_task, work)


@dataclass(eq=False)
class _CountingTool:
    """In the place of the sandbox: the tool's one effect is a message too, which may come after its process died."""

    broker: NetworkBroker
    worker: str
    happened: Callable[[Effect], None]

    async def run(
        self, call: AdmittedCall, tool: Any, sender: ReplySender, config: Any, secrets: Any, attempt: int
    ) -> Result:
        invocation = call.invocation
        sender.status(StatusState.STARTED)

        async def effect() -> None:
            self.happened(Effect(invocation.id, attempt, self.worker))

        await self.broker.send("effect", effect, _TOOL_S)
        return Result(
            invocation=invocation.id, attempt=attempt, tool=invocation.tool, outcome=Outcome.OK, worker=self.worker
        )


class WorkerProcess:
    """The real worker, from its pull to its acknowledgement."""

    def __init__(
        self,
        loop: VirtualLoop,
        broker: NetworkBroker,
        site: Site,
        verifier: Verifier,
        ledger: type[Ledger],
        happened: Callable[[Effect], None],
    ) -> None:
        self.site = site
        self._stop = asyncio.Event()
        metrics = WorkerMetrics()
        calls = RunningCalls()
        served = {name: SimpleNamespace(manifest=manifest) for name, manifest in TOOLS.items()}
        handler = CallHandler(
            worker=site.name,
            broker=broker,
            verifier=verifier,
            discovery=cast("Any", SimpleNamespace(served=lambda name, _version: served.get(name))),
            ledger=ledger(broker, loop.wall_clock),
            settlement=Settlement(broker, site.name, metrics),
            tool_calls=cast("Any", _CountingTool(broker, site.name, happened)),
            calls=calls,
            metrics=metrics,
            lease_s=_LEASE_S,
            renew_s=_LEASE_S / 3,
        )
        worker = Worker(name=site.name, pool="default", slots=2, drain_s=5, broker=broker, handler=handler, calls=calls)
        _start(loop, site, worker.run(self._stop))

    def drain(self) -> None:
        """SIGTERM."""
        self._stop.set()


class ExecutorProcess:
    """The real client; what its predecessor left open it goes on with, as the one who signed it."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, broker: NetworkBroker, site: Site, settings: ClientSettings
    ) -> None:
        self.site = site
        self._loop = loop
        self._broker = broker
        self._settings = settings
        self._client: Client | None = None
        self._replies: ReplyListener | None = None
        self._abandon: dict[int, Callable[[str], None]] = {}
        _start(loop, site, self._serve())

    def call(self, record: CallRecord) -> None:
        """Make a call."""
        record.owner = self.site
        _start(self._loop, self.site, self._call(record))

    def resume(self, record: CallRecord) -> None:
        """Go on with a call of an executor that died: wait for it, then publish it again under its id."""
        record.owner = self.site
        _start(self._loop, self.site, self._go_on(record))

    def cancel(self, record: CallRecord) -> None:
        """Cancel a call, if it got as far as that."""
        if (abandon := self._abandon.get(record.number)) is not None:
            abandon("nobody wants it")

    async def _serve(self) -> None:
        async with (
            ToolCatalog.open(self._broker) as catalog,
            ReplyListener.open(self._broker, self._settings.executor) as replies,
            asyncio.TaskGroup() as group,
        ):
            self._replies = replies
            self._client = Client(self._broker, self._settings, replies, catalog, group)
            await asyncio.Event().wait()

    async def _go_on(self, record: CallRecord) -> None:
        outgoing, replies = record.outgoing, self._replies
        assert outgoing is not None
        assert replies is not None
        payloads = OutgoingPayloads(self._broker, outgoing.pool, outgoing.invocation)
        runner = CallRunner(outgoing, entry_of(record.tool), payloads, self._broker, replies, self._settings, Turn())
        self._abandon[record.number] = runner.call.abandon
        await self._ended(record, runner.call.result(), runner.run())

    async def _call(self, record: CallRecord) -> None:
        assert self._client is not None
        request = CallRequest(
            tool=record.tool, arguments=json.dumps({"number": record.number}).encode(), timeout_s=_DEADLINE_S
        )
        try:
            call = await self._client.start(request)
        except ToolmeshError as error:
            record.refused = error
            return
        self._abandon[record.number] = call.abandon
        await self._ended(record, call.result())

    async def _ended(
        self, record: CallRecord, result: Awaitable[CallResult], running: Coroutine[Any, Any, None] | None = None
    ) -> None:
        async with asyncio.TaskGroup() as group:
            if running is not None:
                group.create_task(running)
            ended = await result
            if not self.site.dead:
                record.results.append(ended)
