"""A call that was announced outlives the one who made it, and a successor gets its one result."""

import asyncio
from pathlib import Path

import pytest
from tests.support.scripted_worker import Job, catalog_entry, echo, scripted_worker, until_cancelled
from tests.support.tool_client import client_settings, memory_client, memory_mesh, until, worker_broker

from toolmesh_broker.memory.hub import MemoryHub
from toolmesh_broker.results import StoredResults
from toolmesh_client import CallRequest, Client, client_over
from toolmesh_client.supervisor import PublishedCall
from toolmesh_contracts.envelopes.reply import ErrorInfo, Outcome, Result
from toolmesh_contracts.errors import ErrorCode
from toolmesh_contracts.wire import encode

pytestmark = pytest.mark.timeout(30)

LASTING = CallRequest(tool="slow", outlives_caller=True)


class Announcements(list[PublishedCall]):
    """Keeps what was announced."""

    async def take(self, call: PublishedCall) -> None:
        self.append(call)


class Gate:
    """A tool that ends when it is let."""

    def __init__(self) -> None:
        self.runs = 0
        self.open = asyncio.Event()

    async def run(self, job: Job) -> Result:
        self.runs += 1
        waiting = [asyncio.ensure_future(self.open.wait()), asyncio.ensure_future(job.cancelled.wait())]
        _, left = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for each in left:
            each.cancel()
        return job.error(ErrorCode.CANCELLED, "stopped") if job.cancelled.is_set() else job.ok("done")


async def left_call(client: Client, gate: Gate, announced: Announcements) -> None:
    """Make a call, and stop waiting for it once it runs."""
    waiting = asyncio.create_task(client.run(LASTING, announce=announced.take))
    await until(lambda: gate.runs == 1)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await until(lambda: client.open_calls == 0)


async def test_a_call_is_announced_before_it_is_queued(tmp_path: Path) -> None:
    """What is written down is there before any effect; when writing fails, nothing is queued."""
    async with memory_client(tmp_path) as (hub, client), scripted_worker(worker_broker(hub), {"echo": echo}) as worker:
        await until(lambda: "echo" in client.tools().get("default", {}))
        announced = Announcements()
        result = await client.run(CallRequest(tool="echo", arguments={"a": 1}), announce=announced.take)
        assert [call.invocation for call in announced] == [result.invocation]
        assert (announced[0].pool, announced[0].tool) == ("default", "echo")

        async def refuse(_: PublishedCall) -> None:
            raise RuntimeError("disk full")

        with pytest.raises(RuntimeError, match="disk full"):
            await client.run(CallRequest(tool="echo"), announce=refuse)
        await until(lambda: client.open_calls == 0)
        assert len(worker.confirmed) == 1, "only the first call ran"


async def test_a_successor_gets_the_result_of_a_call_that_was_left(tmp_path: Path) -> None:
    """Whoever waited stops: the tool is not cancelled, runs once, and its result comes to who asks for it."""
    gate, announced = Gate(), Announcements()
    async with memory_mesh(tmp_path, {"slow": gate.run}) as (hub, client, _):
        await left_call(client, gate, announced)
        settings = client_settings(tmp_path, executor="executor-2")
        async with client_over(worker_broker(hub, "executor__executor-2"), settings) as successor:
            recovering = asyncio.create_task(successor.recover(announced[0]))
            await asyncio.sleep(0.3)
            gate.open.set()
            result = await recovering
        assert result is not None
        assert (result.outcome, result.data, gate.runs) == (Outcome.OK, "done", 1)


async def test_closing_the_client_leaves_lasting_calls_and_cancels_the_others(tmp_path: Path) -> None:
    """An executor that is stopped hands its tasks' calls over; a person's own call ends with it."""
    gate, other, announced = Gate(), Gate(), Announcements()
    settings = client_settings(tmp_path)
    async with (
        MemoryHub.running("test") as hub,
        scripted_worker(worker_broker(hub), {"slow": gate.run, "own": other.run}),
    ):
        async with client_over(worker_broker(hub, settings.connection.identity), settings) as client:
            await client.start(LASTING, announce=announced.take)
            own = await client.start(CallRequest(tool="own"))
            await until(lambda: gate.runs == other.runs == 1)
        assert (await own.result()).outcome is Outcome.ERROR
        gate.open.set()
        async with client_over(worker_broker(hub, settings.connection.identity), settings) as successor:
            result = await successor.recover(announced[0])
        assert result is not None
        assert result.ok


async def test_a_call_that_no_worker_took_never_runs_and_may_be_made_anew(tmp_path: Path) -> None:
    """It still waits in the queue, or was never published: recovered, it is void for good, also the second time."""
    settings = client_settings(tmp_path)
    async with MemoryHub.running("test") as hub:
        async with client_over(worker_broker(hub, settings.connection.identity), settings) as client:
            catalog = client.broker.keyvalue(client.broker.subjects.catalog_bucket())
            entry = catalog_entry("slow")
            await catalog.put(client.broker.subjects.catalog_key("default", "slow", "worker-1"), encode(entry))
            await until(lambda: "slow" in client.tools().get("default", {}))
            announced = Announcements()
            await client.start(LASTING, announce=announced.take)
        async with client_over(worker_broker(hub, settings.connection.identity), settings) as successor:
            assert await successor.recover(announced[0]) is None
            assert await successor.recover(announced[0]) is None
            gate, left = Gate(), announced[0]
            async with scripted_worker(worker_broker(hub), {"slow": gate.run}):
                await asyncio.sleep(0.5)
            assert gate.runs == 0
            error = ErrorInfo(code=ErrorCode.CANCELLED, message="the call was cancelled")
            told = Result(invocation=left.invocation, attempt=0, tool="slow", outcome=Outcome.ERROR, error=error)
            assert await StoredResults(successor.broker).store(left.pool, told, deadline_ms=left.deadline_ms)
            # That is only a worker's word for what the successor did itself.
            assert await successor.recover(left) is None


async def test_a_worker_that_died_with_a_left_call_is_told_as_lost(tmp_path: Path) -> None:
    """Nobody answers for it: the successor hears WORKER_LOST, not nothing."""
    announced = Announcements()
    settings = client_settings(tmp_path)
    async with MemoryHub.running("test") as hub:
        async with (
            scripted_worker(worker_broker(hub), {"slow": until_cancelled}) as worker,
            client_over(worker_broker(hub, settings.connection.identity), settings) as client,
        ):
            worker.lease_s = 1.0
            await client.start(LASTING, announce=announced.take)
            await until(lambda: bool(worker.running))
            await worker.crash()
        async with client_over(worker_broker(hub, settings.connection.identity), settings) as successor:
            result = await successor.recover(announced[0])
    assert result is not None
    assert result.error is not None
    assert result.error.code is ErrorCode.WORKER_LOST


async def test_a_left_call_can_be_cancelled_by_another(tmp_path: Path) -> None:
    """Its worker is told to stop, and its result says so."""
    gate, announced = Gate(), Announcements()
    async with memory_mesh(tmp_path, {"slow": gate.run}) as (hub, client, _):
        await left_call(client, gate, announced)
        settings = client_settings(tmp_path, executor="executor-2")
        async with client_over(worker_broker(hub, "executor__executor-2"), settings) as other:
            await other.cancel(announced[0], "not needed any more")
            result = await other.recover(announced[0])
        assert result is not None
        assert result.error is not None
        assert result.error.code is ErrorCode.CANCELLED
