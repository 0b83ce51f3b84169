"""An executor of the harness.

It makes many calls at once through the real client, and journals what it offers, what the queue accepts, and each result
before it is confirmed. What a dead predecessor left open it goes on with, if it is told to.
"""

import asyncio
import hashlib
import random
import signal
import socket
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from tests.load.chaos.envelopes_kept import KeptEnvelope, KeptEnvelopes
from tests.load.chaos.held_process import StepHolder
from tests.load.chaos.journal import Journal, read_journal
from tests.load.chaos.workload import TENANTS, PlannedCall, draw_call

from toolmesh_broker.errors import BrokerError
from toolmesh_broker.jetstream.broker import JetStreamBroker
from toolmesh_broker.jetstream.connection import Connection, open_connection
from toolmesh_broker.ports import OutgoingInvocation, PublishReceipt
from toolmesh_broker.reply_listener import ReplyListener
from toolmesh_broker.settings import ConnectionSettings
from toolmesh_broker.task_scope import task_scope
from toolmesh_client import CallRequest, CallResult, Client, ClientSettings
from toolmesh_client.payloads import OutgoingPayloads
from toolmesh_client.resolution import resolve_tool
from toolmesh_client.runner import CallRunner
from toolmesh_client.tool_catalog import ToolCatalog
from toolmesh_client.turns import Turn
from toolmesh_contracts.errors import ToolmeshError
from toolmesh_contracts.headers import MESSAGE_ID
from toolmesh_contracts.invocation_headers import InvocationHeaders
from toolmesh_identity.development import DevelopmentIssuer

__all__ = ["ExecutorOrder", "main"]

_TOLD_CHARACTERS = 200
_TROUBLE_PAUSE_S = 0.5
_FIRST_PAUSE_S = 2.0
"""An executor that is killed soon after its start shall not fill the queue."""
_CATALOG_S = 30.0


class ExecutorOrder(msgspec.Struct, frozen=True, kw_only=True):
    """What an executor program is to do.

    Attributes:
        executor: Its id.
        servers: The broker's.
        seed_file: Its key there.
        namespace: The mesh's.
        keys: Folder of the development issuer.
        pool: Whose tools it calls.
        folder: Where its journal and its kept envelopes are.
        seed: What its calls are drawn from.
        at_once: How many calls it has open.
        resume: Whether it goes on with what its predecessor left open.
    """

    executor: str
    servers: tuple[str, ...]
    seed_file: str
    namespace: str
    keys: str
    pool: str
    folder: str
    seed: str
    at_once: int
    resume: bool


class _JournalingBroker(JetStreamBroker):
    """The real connection; what is published is noted and kept before, what is accepted after."""

    def __init__(self, connection: Connection, journal: Journal, kept: KeptEnvelopes, executor: str) -> None:
        super().__init__(connection)
        self._journal = journal
        self._kept = kept
        self._executor = executor

    async def publish_invocation(self, call: OutgoingInvocation) -> PublishReceipt:
        """Queue a call."""
        tool = InvocationHeaders.parse({**call.headers, MESSAGE_ID: call.invocation}).tool
        self._kept.keep(call, tool)
        self._journal.write(
            "offered", call=call.invocation, tool=tool, executor=self._executor, deadline=call.deadline_ms / 1000
        )
        receipt = await super().publish_invocation(call)
        self._journal.write("accepted", call=call.invocation, duplicate=receipt.duplicate)
        return receipt


@dataclass(eq=False)
class _Caller:
    """Makes calls."""

    order: ExecutorOrder
    journal: Journal
    kept: KeptEnvelopes
    client: Client
    tokens: tuple[str, ...]
    chance: random.Random
    quiet: asyncio.Event = field(default_factory=asyncio.Event)

    async def call_again_and_again(self) -> None:
        """Make one call after the other until it is to be quiet."""
        await self._pause(self.chance.uniform(0, _FIRST_PAUSE_S))
        while not self.quiet.is_set():
            planned = draw_call(self.chance)
            try:
                await self._call(planned)
            except ToolmeshError as error:
                self.journal.write("refused", executor=self.order.executor, code=error.code, message=error.message)
                await self._pause(_TROUBLE_PAUSE_S)
            await self._pause(planned.pause_s)

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.quiet.wait()

    async def _call(self, planned: PlannedCall) -> None:
        request = CallRequest(
            tool=planned.tool,
            arguments=planned.arguments,
            pool=self.order.pool,
            timeout_s=planned.timeout_s,
            lane=planned.lane,
            token=self.tokens[planned.tenant],
        )
        call = await self.client.start(request, keep=self.keep)
        if planned.cancel_after_s is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(planned.cancel_after_s):
                    await call.result()
            if not call.done:
                self.journal.write("cancel", call=call.invocation)
                call.abandon("the caller lost interest")
        await call.result()

    async def keep(self, result: CallResult) -> None:
        """Note a result where it outlives this process."""
        code = "" if result.error is None else str(result.error.code)
        content = msgspec.json.encode((result.outcome, code, result.attempt, result.message))
        self.journal.write(
            "result",
            call=result.invocation,
            outcome=result.outcome,
            code=code,
            attempt=result.attempt,
            worker=result.worker,
            message=result.message[:_TOLD_CHARACTERS],
            digest=hashlib.sha256(content + (result.raw_data or b"")).hexdigest()[:16],
        )
        self.kept.forget(result.invocation)


@dataclass(eq=False)
class _Successor:
    """Goes on with open calls: waits for them, and publishes them again under their ids, which the queue knows."""

    caller: _Caller
    replies: ReplyListener
    settings: ClientSettings
    tasks: asyncio.TaskGroup
    runners: set[CallRunner] = field(default_factory=set)

    async def take_over(self) -> None:
        """Start with all that is open."""
        decided = {line["call"] for line in read_journal(_journal_path(self.caller.order)) if line["event"] == "result"}
        for envelope in self.caller.kept.all():
            if envelope.invocation in decided:
                self.caller.kept.forget(envelope.invocation)
            else:
                self._go_on(envelope)

    def reconnected(self) -> None:
        """Look up all calls."""
        for runner in self.runners:
            runner.supervisor.reconnected()

    def _go_on(self, envelope: KeptEnvelope) -> None:
        client = self.caller.client
        self.caller.journal.write("resumed", call=envelope.invocation)
        runner = CallRunner(
            envelope.outgoing(),
            resolve_tool(client.tools(), envelope.tool, envelope.pool),
            OutgoingPayloads(client.broker, envelope.pool, envelope.invocation),
            client.broker,
            self.replies,
            self.settings,
            Turn(),
            self.caller.keep,
        )
        self.runners.add(runner)
        task = self.tasks.create_task(runner.run())
        task.add_done_callback(lambda _: self.runners.discard(runner))


def _journal_path(order: ExecutorOrder) -> Path:
    return Path(order.folder) / "journal.jsonl"


async def _run(order: ExecutorOrder, control: socket.socket) -> None:
    journal = Journal(_journal_path(order))
    kept = KeptEnvelopes(Path(order.folder) / "open")
    holder = StepHolder(journal, control)
    issuer = DevelopmentIssuer(Path(order.keys))
    tokens = tuple(issuer.token(user, ("*",), audience=order.namespace, agent=agent) for agent, user in TENANTS)

    async def no_token() -> str:
        raise AssertionError("every call brings its own")

    settings = ClientSettings(
        executor=order.executor,
        connection=ConnectionSettings(
            servers=order.servers,
            namespace=order.namespace,
            identity=f"executor__{order.executor}",
            nkey_seed_file=Path(order.seed_file),
        ),
        signing_key=issuer.executor_key(),
        tokens=no_token,
        observer=holder.observe,
    )
    async with open_connection(settings.connection) as connection:
        broker = _JournalingBroker(connection, journal, kept, order.executor)
        async with (
            ToolCatalog.open(broker) as catalog,
            ReplyListener.open(broker, order.executor) as replies,
            task_scope() as tasks,
        ):
            client = Client(broker, settings, replies, catalog, tasks)
            caller = _Caller(order, journal, kept, client, tokens, random.Random(order.seed))  # noqa: S311
            await _serve(order, holder, caller, _Successor(caller, replies, settings, tasks))


async def _serve(order: ExecutorOrder, holder: StepHolder, caller: _Caller, successor: _Successor) -> None:
    broker = caller.client.broker
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    holder.on_command("quiet", caller.quiet.set)
    holder.listen()
    for react in (caller.client.reconnected, successor.reconnected):
        broker.on_reconnect(react)
    with suppress(TimeoutError):
        async with asyncio.timeout(_CATALOG_S):
            await caller.client.catalog.wait_until(lambda view: bool(view.tools()))
    if order.resume:
        with suppress(BrokerError, ToolmeshError):
            await successor.take_over()
    holder.tell("ready")
    async with asyncio.TaskGroup() as group:
        callers = [group.create_task(caller.call_again_and_again()) for _ in range(order.at_once)]
        stopping = group.create_task(stop.wait())
        await asyncio.wait([*callers, stopping], return_when=asyncio.FIRST_COMPLETED)
        while not stop.is_set() and (caller.client.open_calls or successor.runners):
            await asyncio.sleep(0.1)
        holder.tell("idle")
        await stop.wait()
        for task in callers:
            task.cancel()
    await caller.client.close()


def main(order: Path, control: socket.socket) -> None:
    """Run what the order in a file says until SIGTERM."""
    asyncio.run(_run(msgspec.json.decode(order.read_bytes(), type=ExecutorOrder), control))
