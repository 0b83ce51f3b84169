"""How calls end that don't end by themselves: withdrawn, cancelled, out of time, worker lost, caller gone."""

import asyncio
import dataclasses
import time
from pathlib import Path

import msgspec
import pytest
from tests.support.scripted_worker import DAY_S, Job, echo, scripted_worker, until_cancelled
from tests.support.tool_client import QUICK, client_settings, memory_mesh, until, worker_broker

from toolmesh_broker.errors import BrokerUnreachableError
from toolmesh_broker.ledger import Ledger
from toolmesh_broker.memory.broker import MemoryBroker
from toolmesh_broker.memory.hub import MemoryHub
from toolmesh_broker.memory.payload_store import MemoryPayloadStore
from toolmesh_broker.ports import OutgoingInvocation, PublishReceipt
from toolmesh_client import CallRequest, CallResult, Client, client_over
from toolmesh_contracts.envelopes.ledger import LedgerEntry, LedgerState
from toolmesh_contracts.envelopes.reply import Outcome, Result
from toolmesh_contracts.errors import ErrorCode
from toolmesh_contracts.wire import decode, encode

pytestmark = pytest.mark.timeout(30)


def code_of(result: CallResult) -> ErrorCode:
    assert result.error is not None
    return result.error.code


async def ledger_entry(client: Client, invocation: str) -> LedgerEntry | None:
    ledger = client.broker.keyvalue(client.broker.subjects.ledger_bucket())
    entry = await ledger.get(client.broker.subjects.call_key("default", invocation))
    return None if entry is None else decode(LedgerEntry, entry.value)


async def running_lease(client: Client, invocation: str, *, ends_in_s: float, attempt: int = 1) -> None:
    """Writes what a worker that has taken the call would have written."""
    now = time.time()
    entry = LedgerEntry(
        state=LedgerState.RUNNING,
        attempt=attempt,
        worker="worker-1",
        lease_until_ms=int((now + ends_in_s) * 1000),
        deadline_ms=int((now + 60) * 1000),
    )
    ledger = client.broker.keyvalue(client.broker.subjects.ledger_bucket())
    await ledger.create(client.broker.subjects.call_key("default", invocation), encode(entry), DAY_S)


async def test_a_queued_call_is_withdrawn(tmp_path: Path) -> None:
    """It leaves the queue, the ledger says so, and a worker that comes later does not run it."""
    async with memory_mesh(tmp_path, {"echo": echo}, slots=0) as (hub, client, _):
        call = await client.start(CallRequest(tool="echo"))
        result = await call.cancel("changed my mind")
        assert code_of(result) is ErrorCode.CANCELLED
        assert "changed my mind" in result.message
        assert "did not run" in result.message
        assert len(hub.queue(client.broker.subjects.invoke_stream("default"))) == 0
        entry = await ledger_entry(client, call.invocation)
        assert entry is not None
        assert (entry.state, entry.attempt, entry.reason) == (LedgerState.CANCELLED, 0, "changed my mind")


async def test_a_running_call_is_stopped_by_its_worker(tmp_path: Path) -> None:
    """The worker named in the ledger is told, and its answer is the result."""
    async with memory_mesh(tmp_path, {"wait": until_cancelled}) as (_, client, worker):
        call = await client.start(CallRequest(tool="wait"))
        await until(lambda: worker.running == (call.invocation,), "the run")
        result = await call.cancel("stop")
        assert code_of(result) is ErrorCode.CANCELLED
        assert (result.message, result.attempt) == ("stopped on request", 1)


async def test_a_cancel_message_that_is_lost_is_repeated(tmp_path: Path) -> None:
    """Control messages are lossy; the worker hears the next one."""
    async with memory_mesh(tmp_path, {"wait": until_cancelled}) as (_, client, worker):
        call = await client.start(CallRequest(tool="wait"))
        await until(lambda: worker.running == (call.invocation,), "the run")
        worker.deaf = 3
        assert code_of(await call.cancel()) is ErrorCode.CANCELLED
        assert worker.deaf == 0


async def test_cancel_returns_the_result_of_a_call_that_was_quicker(tmp_path: Path) -> None:
    """A call that has ended stays as it ended."""
    async with memory_mesh(tmp_path, {"echo": echo}) as (_, client, _):
        call = await client.start(CallRequest(tool="echo", arguments={"n": 1}))
        first = await call.result()
        assert await call.cancel("too late") is first
        assert first.ok


async def test_a_lost_worker_ends_a_call_that_must_not_run_twice(tmp_path: Path) -> None:
    """Lease over, nobody takes over, tool not idempotent: outcome unknown, and the mark keeps late workers away."""
    async with memory_mesh(tmp_path, {"echo": echo}, slots=0) as (hub, client, _):
        call = await client.start(CallRequest(tool="echo"))
        await running_lease(client, call.invocation, ends_in_s=0.2)
        result = await call.result()
        assert code_of(result) is ErrorCode.WORKER_LOST
        assert "unknown" in result.message
        assert (result.attempt, result.worker) == (1, "worker-1")
        entry = await ledger_entry(client, call.invocation)
        assert entry is not None
        assert entry.state is LedgerState.CANCELLED
        assert len(hub.queue(client.broker.subjects.invoke_stream("default"))) == 0


async def test_a_live_lease_is_left_alone(tmp_path: Path) -> None:
    """A long silent run is no lost one, as long as its worker renews."""
    release = asyncio.Event()

    async def slow(job: Job) -> Result:
        await release.wait()
        return job.ok("at last")

    async with memory_mesh(tmp_path, {"slow": slow}) as (_, client, worker):
        worker.lease_s, worker.renew_every_s = 0.4, 0.1
        call = await client.start(CallRequest(tool="slow"))
        started = time.monotonic()
        await until(lambda: time.monotonic() - started > 1.5, "several leases")
        assert not call.done
        release.set()
        assert (await call.result()).data == "at last"


async def test_an_idempotent_call_waits_for_another_worker(tmp_path: Path) -> None:
    """Redelivery runs it again; only the last allowed attempt's loss ends it."""
    again = {"echo": {"idempotent": True, "max_attempts": 2}}
    async with memory_mesh(tmp_path, {"echo": echo}, slots=0, entries=again) as (_, client, _):
        first = await client.start(CallRequest(tool="echo", timeout_s=1.5))
        second = await client.start(CallRequest(tool="echo"))
        await running_lease(client, first.invocation, ends_in_s=0, attempt=1)
        await running_lease(client, second.invocation, ends_in_s=0, attempt=2)
        assert code_of(await second.result()) is ErrorCode.WORKER_LOST
        lost = await first.result()
        assert code_of(lost) is ErrorCode.WORKER_LOST
        assert (lost.worker, lost.attempt) == ("worker-1", 1)


async def test_a_lease_that_is_over_at_the_deadline_is_a_lost_worker(tmp_path: Path) -> None:
    """Nothing was stopped and nothing was "still running": the worker is named, and what it did is unknown."""
    patient = dataclasses.replace(QUICK, dead_s=60.0)
    async with memory_mesh(tmp_path, {"echo": echo}, slots=0, patience=patient) as (_, client, _):
        call = await client.start(CallRequest(tool="echo", timeout_s=0.5))
        await running_lease(client, call.invocation, ends_in_s=0.1)
        result = await call.result()
        assert code_of(result) is ErrorCode.WORKER_LOST
        assert (result.worker, result.attempt) == ("worker-1", 1)
        assert "still running" not in result.message


async def test_a_stored_result_is_found(tmp_path: Path) -> None:
    """A worker that got no confirmation stored it; the silent call looks it up, also when its lease is over."""
    async with memory_mesh(tmp_path, {"echo": echo}, slots=0) as (_, client, worker):
        call = await client.start(CallRequest(tool="echo"))
        await running_lease(client, call.invocation, ends_in_s=0)
        result = Result(
            invocation=call.invocation, attempt=1, tool="echo", outcome=Outcome.OK, data=msgspec.Raw(b'"kept"')
        )
        results = worker.broker.keyvalue(worker.broker.subjects.result_bucket())
        await results.create(worker.broker.subjects.call_key("default", call.invocation), encode(result), DAY_S)
        assert (await call.result()).data == "kept"


async def test_a_call_that_nobody_takes_ends_at_its_deadline(tmp_path: Path) -> None:
    """An expired message vanishes silently; the client reports it, and the mark keeps a late worker from running it."""
    async with memory_mesh(tmp_path, {"echo": echo}, slots=0) as (_, client, _):
        result = await client.call("echo", timeout_s=0.3)
        assert code_of(result) is ErrorCode.DEADLINE_EXCEEDED
        assert "the tool did not run" in result.message
        entry = await ledger_entry(client, result.invocation)
        assert entry is not None
        assert entry.state is LedgerState.CANCELLED


async def test_a_call_that_still_runs_at_its_deadline_is_stopped(tmp_path: Path) -> None:
    """The worker is told, and the caller is not kept waiting for it."""
    async with memory_mesh(tmp_path, {"wait": until_cancelled}) as (_, client, worker):
        result = await client.call("wait", timeout_s=0.3)
        assert code_of(result) is ErrorCode.DEADLINE_EXCEEDED
        assert "was still running" in result.message
        await until(lambda: not worker.running, "the stop")


async def test_a_caller_that_is_cancelled_cancels_its_call(tmp_path: Path) -> None:
    """Ctrl-C at the caller's end stops the tool."""
    async with memory_mesh(tmp_path, {"wait": until_cancelled}) as (_, client, worker):
        caller = asyncio.create_task(client.call("wait"))
        await until(lambda: bool(worker.running), "the run")
        caller.cancel()
        with pytest.raises(asyncio.CancelledError):
            await caller
        await until(lambda: not worker.running and client.open_calls == 0, "the stop")


async def test_a_wait_for_the_result_can_be_given_up(tmp_path: Path) -> None:
    """`Call.result` under a timeout leaves the call alone; its handle still ends it."""
    async with memory_mesh(tmp_path, {"wait": until_cancelled}) as (_, client, _):
        call = await client.start(CallRequest(tool="wait"))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(call.result(), 0.05)
        assert not call.done
        assert code_of(await call.cancel()) is ErrorCode.CANCELLED


async def test_closing_the_client_cancels_open_calls(tmp_path: Path) -> None:
    """Queued ones are withdrawn, running ones stopped; nobody waits for ever."""
    async with memory_mesh(tmp_path, {"wait": until_cancelled}, slots=1) as (hub, _, worker):
        async with client_over(worker_broker(hub, "two"), client_settings(tmp_path, executor="two")) as client:
            first = await client.start(CallRequest(tool="wait"))
            await until(lambda: bool(worker.running), "the run")
            second = await client.start(CallRequest(tool="wait"))
        assert code_of(await first.result()) is ErrorCode.CANCELLED
        assert code_of(await second.result()) is ErrorCode.CANCELLED
        await until(lambda: not worker.running, "the stop")


async def test_closing_does_not_wait_for_a_worker_that_does_not_stop(tmp_path: Path) -> None:
    """The end of the block is bounded; the call's handle says that it may still run."""

    async def stubborn(job: Job) -> Result:
        await asyncio.Event().wait()
        return job.ok()

    hasty = client_settings(tmp_path, executor="two", patience=dataclasses.replace(QUICK, close_s=0.2))
    async with memory_mesh(tmp_path, {"stubborn": stubborn}) as (hub, _, worker):
        async with client_over(worker_broker(hub, "two"), hasty) as client:
            call = await client.start(CallRequest(tool="stubborn"))
            await until(lambda: bool(worker.running), "the run")
        result = await call.result()
        assert code_of(result) is ErrorCode.CANCELLED
        assert "may still run" in result.message


class SlowBroker(MemoryBroker):
    """A broker that stores what is published and then never says so."""

    async def publish_invocation(self, call: OutgoingInvocation) -> PublishReceipt:
        receipt = await super().publish_invocation(call)
        await asyncio.Event().wait()
        return receipt


class LosingBroker(MemoryBroker):
    """A broker whose connection is lost just after it has stored what is published."""

    async def publish_invocation(self, call: OutgoingInvocation) -> PublishReceipt:
        await super().publish_invocation(call)
        raise BrokerUnreachableError("the connection was lost")


async def assert_never_runs(hub: MemoryHub) -> None:
    """Lets a late worker find the one queued call, and not run it."""
    async with scripted_worker(worker_broker(hub), {"echo": echo}, name="late") as worker:
        await until(lambda: len(worker.skipped) == 1, "the late worker's look at the ledger")
        assert worker.taken == []


async def test_a_call_cancelled_while_it_is_published_never_runs(tmp_path: Path) -> None:
    """It may be queued without an answer; the ledger's mark decides."""
    async with memory_mesh(tmp_path, {"echo": echo}, slots=0, connection=SlowBroker) as (hub, client, _):
        starting = asyncio.create_task(client.start(CallRequest(tool="echo")))
        queue = hub.queue(client.broker.subjects.invoke_stream("default"))
        await until(lambda: len(queue) == 1, "the publish")
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting
        await until(lambda: client.open_calls == 0, "the withdrawal")
        await assert_never_runs(hub)


async def test_a_call_of_which_nothing_is_known_is_withdrawn(tmp_path: Path) -> None:
    """The caller gets the broker's error; the call does not run behind its back."""
    async with memory_mesh(tmp_path, {"echo": echo}, slots=0, connection=LosingBroker) as (hub, client, _):
        with pytest.raises(BrokerUnreachableError):
            await client.call("echo")
        await until(lambda: client.open_calls == 0, "the withdrawal")
        await assert_never_runs(hub)


async def test_a_result_before_the_publishs_answer_counts(tmp_path: Path) -> None:
    """A worker can be quicker than the stream's acknowledgement."""
    async with memory_mesh(tmp_path, {"echo": echo}, connection=SlowBroker) as (_, client, _):
        assert (await client.call("echo", {"n": 1})).data == {"n": 1}


async def test_silence_of_a_call_that_waited_long_is_noticed_soon(tmp_path: Path) -> None:
    """A queued call is looked up rarely; once it has started, its worker's death is noticed as quickly as any other's."""
    lazy = dataclasses.replace(QUICK, queued_look_s=60.0, longest_look_s=60.0)

    async def dies(job: Job) -> Result:
        job.worker.renew_every_s = 60.0
        await asyncio.Event().wait()
        return job.ok()

    async with memory_mesh(tmp_path, {"dies": dies}, patience=lazy) as (_, client, worker):
        worker.lease_s = 0.3
        result = await client.call("dies")
        assert code_of(result) is ErrorCode.WORKER_LOST


class FaultyBroker(MemoryBroker):
    """A connection whose payload store fails as no broker should."""

    def payloads(self, pool: str) -> MemoryPayloadStore:
        raise ZeroDivisionError(pool)


async def test_a_fault_in_one_call_is_its_result(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A bug while following a call ends that call with INTERNAL_ERROR, and the client works on."""
    async with memory_mesh(tmp_path, {"echo": echo}, connection=FaultyBroker) as (_, client, _):
        for _ in range(2):
            assert code_of(await client.call("echo")) is ErrorCode.INTERNAL_ERROR
    assert "following a call failed" in caplog.text


async def test_a_call_cancelled_by_someone_else_ends(tmp_path: Path) -> None:
    """The ledger is the truth: a mark that an operator or another executor made ends the call here."""
    async with memory_mesh(tmp_path, {"echo": echo}, slots=0) as (_, client, _):
        call = await client.start(CallRequest(tool="echo"))
        await Ledger(client.broker).cancel("default", call.invocation, deadline_ms=2**41, reason="by an operator")
        result = await call.result()
        assert code_of(result) is ErrorCode.CANCELLED
        assert "by an operator" in result.message


async def test_a_stored_result_that_cant_be_read_keeps_the_call_waiting(tmp_path: Path) -> None:
    """Rubbish in the results bucket ends nothing; the deadline does, and says that it can't tell."""
    async with memory_mesh(tmp_path, {"echo": echo}, slots=0) as (_, client, worker):
        call = await client.start(CallRequest(tool="echo", timeout_s=0.5))
        results = worker.broker.keyvalue(worker.broker.subjects.result_bucket())
        await results.create(worker.broker.subjects.call_key("default", call.invocation), b"{", DAY_S)
        result = await call.result()
        assert code_of(result) is ErrorCode.DEADLINE_EXCEEDED
        assert "can't say" in result.message


async def test_cancelling_a_call_whose_worker_died_says_that_it_may_have_run(tmp_path: Path) -> None:
    """Cancelled, but not as if nothing had happened."""
    async with memory_mesh(tmp_path, {"echo": echo}, slots=0) as (_, client, _):
        call = await client.start(CallRequest(tool="echo"))
        await running_lease(client, call.invocation, ends_in_s=0)
        result = await call.cancel("enough")
        assert code_of(result) is ErrorCode.CANCELLED
        assert "unknown" in result.message
