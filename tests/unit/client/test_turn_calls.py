"""Calls of one turn: one after another, to the worker that has their workspace, and to another one when that is lost."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.support.scripted_worker import DAY_S, Job, ScriptedWorker, until_cancelled
from tests.support.tool_client import client_settings, memory_mesh, until, worker_broker

from toolmesh_broker.memory.broker import MemoryBroker
from toolmesh_broker.memory.hub import MemoryHub
from toolmesh_broker.ports import Message, OutgoingInvocation, PublishReceipt
from toolmesh_client import CallRequest, Client, client_over
from toolmesh_client.errors import ClientClosedError, InvalidCallError, ToolNotFoundError, TurnBusyError
from toolmesh_contracts.envelopes.catalog import DECLARED_PROFILE
from toolmesh_contracts.envelopes.invocation import DirectReply, Invocation
from toolmesh_contracts.envelopes.ledger import LedgerEntry, LedgerState
from toolmesh_contracts.envelopes.reply import Outcome, Result
from toolmesh_contracts.envelopes.values import WorkspaceCopy
from toolmesh_contracts.wire import decode, encode

pytestmark = pytest.mark.timeout(30)

DECLARED = {"profile": DECLARED_PROFILE}


async def note(job: Job) -> Result:
    """Leaves a workspace behind."""
    return job.ok(job.attempt, workspace=WorkspaceCopy(state="state-1"))


class DirectCalls:
    """What a worker does with calls that come without the queue."""

    def __init__(self, worker: ScriptedWorker) -> None:
        self.worker = worker
        self.heard: list[Invocation] = []
        self.answers = True

    async def take(self, message: Message) -> None:
        invocation = decode(Invocation, message.body)
        self.heard.append(invocation)
        if self.answers:
            await message.respond(encode(DirectReply(invocation=invocation.id, taken=True)))

    @contextlib.asynccontextmanager
    async def listening(self) -> AsyncIterator["DirectCalls"]:
        subject = self.worker.broker.subjects.direct("default", self.worker.name)
        async with self.worker.broker.subscribe(subject, self.take):
            yield self

    async def die_with(self, invocation: Invocation) -> None:
        """Leaves a lease in the ledger that has run out."""
        broker = self.worker.broker
        lease = LedgerEntry(
            state=LedgerState.RUNNING,
            attempt=1,
            worker=self.worker.name,
            lease_until_ms=int(time.time() * 1000),
            deadline_ms=invocation.deadline_ms,
        )
        ledger = broker.keyvalue(broker.subjects.ledger_bucket())
        await ledger.create(broker.subjects.call_key("default", invocation.id), encode(lease), DAY_S)


def call_of_turn(tool: str = "note", **more: float) -> CallRequest:
    return CallRequest(tool=tool, turn="turn-1", **more)  # type: ignore[arg-type] # only timeout_s


async def test_a_later_call_goes_straight_to_the_worker_and_is_in_no_queue(tmp_path: Path) -> None:
    """It names the workspace, and nothing is published for it."""
    async with (
        memory_mesh(tmp_path, {"note": note}, entries={"note": DECLARED}) as (hub, client, worker),
        DirectCalls(worker).listening() as direct,
    ):
        assert (await client.run(call_of_turn())).ok
        queue = hub.queue(client.broker.subjects.invoke_stream("default"))
        await until(lambda: len(queue) == 0, "the ack")
        later = await client.start(call_of_turn())
        assert len(queue) == 0
        assert direct.heard[0].workspace == WorkspaceCopy(state="state-1")
        result = Result(invocation=later.invocation, attempt=1, tool="note", outcome=Outcome.OK, message="direct")
        assert await worker.offer(direct.heard[0], result)
        assert (await later.result()).message == "direct"


async def test_an_idempotent_call_runs_elsewhere_when_the_turns_worker_dies(tmp_path: Path) -> None:
    """It was in no queue, so it is put there when its lease has run out."""
    entries = {"note": DECLARED | {"idempotent": True, "max_attempts": 2}}
    async with (
        memory_mesh(tmp_path, {"note": note}, entries=entries) as (hub, client, worker),
        DirectCalls(worker).listening() as direct,
    ):
        assert (await client.run(call_of_turn())).ok
        queue = hub.queue(client.broker.subjects.invoke_stream("default"))
        await until(lambda: len(queue) == 0, "the ack")
        worker.slots = 0
        later = await client.start(call_of_turn())
        assert len(queue) == 0
        await direct.die_with(direct.heard[0])
        await until(lambda: len(queue) == 1, "the call in the queue")
        again = Result(invocation=later.invocation, attempt=2, tool="note", outcome=Outcome.OK, message="again")
        assert await worker.offer(direct.heard[0], again)
        assert (await later.result()).message == "again"
        await until(lambda: len(queue) == 0, "the withdrawal of what is left")


class UnhurriedBroker(MemoryBroker):
    """A connection on which later publishes are answered late, though the message is there at once."""

    def __init__(self, hub: MemoryHub, identity: str) -> None:
        super().__init__(hub, identity)
        self.published = 0

    async def publish_invocation(self, call: OutgoingInvocation) -> PublishReceipt:
        receipt = await super().publish_invocation(call)
        self.published += 1
        if self.published > 1:
            await asyncio.sleep(0.5)
        return receipt


async def test_the_queued_copy_of_a_call_that_ended_first_is_withdrawn(tmp_path: Path) -> None:
    """A result that is there before the publish is answered leaves nothing in the queue."""
    async with (
        memory_mesh(tmp_path, {"note": note}, entries={"note": DECLARED}, connection=UnhurriedBroker) as mesh,
        DirectCalls(mesh[2]).listening() as direct,
    ):
        hub, client, worker = mesh
        assert (await client.run(call_of_turn())).ok
        queue = hub.queue(client.broker.subjects.invoke_stream("default"))
        await until(lambda: len(queue) == 0, "the ack")
        worker.slots, direct.answers = 0, False
        calling = asyncio.create_task(client.run(call_of_turn()))
        await until(lambda: len(queue) == 1, "the copy in the queue")
        invocation = direct.heard[0]
        result = Result(invocation=invocation.id, attempt=1, tool="note", outcome=Outcome.OK, message="direct")
        assert await worker.offer(invocation, result)
        assert (await calling).message == "direct"
        await until(lambda: client.open_calls == 0, "the end")
        assert len(queue) == 0


async def busy_turn(client: Client, worker: ScriptedWorker) -> "asyncio.Task[object]":
    """A call of the turn that runs until it is cancelled."""
    task: asyncio.Task[object] = asyncio.create_task(client.run(call_of_turn("wait")))
    await until(lambda: bool(worker.running), "the run")
    return task


async def end(task: "asyncio.Task[object]") -> None:
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


BOTH = {"wait": DECLARED, "note": DECLARED}


async def test_waiting_for_the_turn_counts_against_the_timeout(tmp_path: Path) -> None:
    """The call ends at its deadline, says that the tool did not run, and holds up nobody."""
    async with memory_mesh(tmp_path, {"wait": until_cancelled, "note": note}, entries=BOTH) as (_, client, worker):
        busy = await busy_turn(client, worker)
        with pytest.raises(TurnBusyError, match="did not run"):
            await client.run(call_of_turn(timeout_s=0.2))
        waiting = asyncio.create_task(client.run(call_of_turn(timeout_s=20)))
        await asyncio.sleep(0)
        await end(busy)
        assert (await waiting).ok
        assert len(worker.taken) == 2


async def test_a_tool_that_left_while_its_call_waited_is_not_called(tmp_path: Path) -> None:
    """What was true before the wait is checked again after it, and the turn goes on."""
    async with memory_mesh(tmp_path, {"wait": until_cancelled, "note": note}, entries=BOTH) as (_, client, worker):
        busy = await busy_turn(client, worker)
        waiting = asyncio.create_task(client.run(call_of_turn()))
        catalog = client.broker.keyvalue(client.broker.subjects.catalog_bucket())
        await catalog.delete(client.broker.subjects.catalog_key("default", "note", "worker-1"))
        await until(lambda: "note" not in client.tools()["default"], "the tool's end")
        await end(busy)
        with pytest.raises(ToolNotFoundError):
            await waiting
        busy = await busy_turn(client, worker)
        await end(busy)


async def test_a_call_that_waits_for_its_turn_ends_with_the_client(tmp_path: Path) -> None:
    """Nothing is published after the block."""
    tools = {"wait": until_cancelled, "note": note}
    async with memory_mesh(tmp_path, tools, entries=BOTH) as (hub, _, worker):
        async with client_over(worker_broker(hub, "two"), client_settings(tmp_path, executor="two")) as client:
            busy = await busy_turn(client, worker)
            waiting = asyncio.create_task(client.run(call_of_turn()))
            await asyncio.sleep(0)
        with pytest.raises(ClientClosedError):
            await waiting
        await end(busy)
        assert len(worker.taken) == 1


async def test_a_call_that_cant_be_written_frees_its_turn_and_what_it_had_stored(tmp_path: Path) -> None:
    """Arguments and files that are stored already are removed when a later step fails, and the next call starts."""
    (tmp_path / "in.bin").write_bytes(b"x" * 1000)
    async with memory_mesh(tmp_path, {"note": note}, entries={"note": DECLARED}) as (hub, client, _):
        request = CallRequest(
            tool="note",
            turn="turn-1",
            arguments={"x": "y" * 300_000},
            artifacts={"f": tmp_path / "in.bin", "g": tmp_path / "missing"},
        )
        with pytest.raises(InvalidCallError, match="missing"):
            await client.run(request)
        assert not hub.payloads
        unwritable = CallRequest(tool="note", arguments={"x": "y" * 300_000}, required_scopes=("a b",))
        with pytest.raises(InvalidCallError, match="is no scope"):
            await client.run(unwritable)
        assert not hub.payloads
        assert (await client.run(call_of_turn())).ok


async def test_calls_of_other_turns_do_not_wait(tmp_path: Path) -> None:
    """Only the same turn of the same caller is one after another."""
    async with memory_mesh(tmp_path, {"wait": until_cancelled, "note": note}, entries=BOTH) as (_, client, worker):
        busy = await busy_turn(client, worker)
        assert (await client.run(CallRequest(tool="note", turn="turn-2"))).ok
        assert (await client.run(CallRequest(tool="note"))).ok
        await end(busy)
