"""A worker hears that its result is safe from the process that waits for it, and only once that has it."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
from tests.support.scripted_worker import Job, ScriptedWorker, echo
from tests.support.tool_client import client_settings, memory_mesh, until, worker_broker

from toolmesh_broker.memory.broker import MemoryBroker
from toolmesh_broker.memory.hub import MemoryHub
from toolmesh_broker.memory.payload_store import MemoryPayloadStore
from toolmesh_broker.ports import Message
from toolmesh_client import CallRequest, CallResult, client_over
from toolmesh_contracts.call_steps import CallStep
from toolmesh_contracts.envelopes.reply import Outcome, Result
from toolmesh_contracts.envelopes.values import PayloadRef
from toolmesh_contracts.errors import ErrorCode

pytestmark = pytest.mark.timeout(30)


class SlowStore(MemoryPayloadStore):
    """Gives nothing before it is released."""

    release: asyncio.Event

    async def open(self, ref: PayloadRef) -> AsyncIterator[bytes]:
        await self.release.wait()
        async for chunk in super().open(ref):
            yield chunk


class SlowlyLoadingBroker(MemoryBroker):
    """A connection on which stored results take their time."""

    def __init__(self, hub: MemoryHub, identity: str) -> None:
        super().__init__(hub, identity)
        self.store = SlowStore(hub, self.subjects.payload_bucket("default"))
        self.store.release = asyncio.Event()

    def payloads(self, pool: str) -> MemoryPayloadStore:
        return self.store


@pytest.mark.requirement("call:confirm-or-store")
async def test_a_stored_document_is_read_before_its_result_is_confirmed(tmp_path: Path) -> None:
    """Until the caller has it all, the worker keeps the result; only then it is confirmed, and the document removed."""

    async def large(job: Job) -> Result:
        document = msgspec.json.encode({"message": "m", "data": "x" * 500_000})
        ref = await job.worker.broker.payloads("default").put(f"{job.invocation.id}.result", document, 60.0)
        return job.result(Outcome.OK, payload=ref)

    async with memory_mesh(tmp_path, {"large": large}, connection=SlowlyLoadingBroker) as (hub, client, worker):
        assert isinstance(client.broker, SlowlyLoadingBroker)
        call = await client.start(CallRequest(tool="large"))
        await until(lambda: len(hub.payloads) == 1, "the stored document")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(call.result(), 0.2)
        assert worker.confirmed == []
        client.broker.store.release.set()
        assert len((await call.result()).data) == 500_000
        await until(lambda: worker.confirmed == [call.invocation], "the confirmation")
        await until(lambda: not hub.payloads, "the document's removal")
        assert worker.stored == []


async def test_a_client_that_ends_while_it_reads_a_document_leaves_the_result_with_its_worker(tmp_path: Path) -> None:
    """It is refused, so that the worker stores it."""

    async def large(job: Job) -> Result:
        ref = await job.worker.broker.payloads("default").put(f"{job.invocation.id}.result", b'{"message":"m"}', 60.0)
        return job.result(Outcome.OK, payload=ref)

    async with memory_mesh(tmp_path, {"large": large}) as (hub, _, worker):
        settings = client_settings(tmp_path, executor="two")
        async with client_over(SlowlyLoadingBroker(hub, "two"), settings) as client:
            call = await client.start(CallRequest(tool="large"))
            await until(lambda: len(hub.payloads) == 1, "the stored document")
        await until(lambda: worker.stored == [call.invocation], "the stored result")
        assert worker.confirmed == []
        assert len(hub.payloads) == 1


@pytest.mark.requirement("call:confirm-or-store")
async def test_a_result_is_kept_before_its_worker_hears_that_it_is_safe(tmp_path: Path) -> None:
    """While the caller keeps it, it is neither confirmed nor handed out; then it is both."""
    kept: list[CallResult] = []
    release = asyncio.Event()

    async def keep(result: CallResult) -> None:
        kept.append(result)
        await release.wait()

    async with memory_mesh(tmp_path, {"echo": echo}) as (_, client, worker):
        call = await client.start(CallRequest(tool="echo", arguments={"n": 1}), keep=keep)
        await until(lambda: len(kept) == 1, "the result to be kept")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(call.result(), 0.2)
        assert worker.confirmed == []
        release.set()
        assert await call.result() == kept[0]
        await until(lambda: worker.confirmed == [call.invocation], "the confirmation")
    assert worker.stored == []


@pytest.mark.requirement("call:confirm-or-store")
async def test_a_result_that_could_not_be_kept_is_stored_by_its_worker(tmp_path: Path) -> None:
    """It is not confirmed; the caller hears why, and where the result is."""

    async def keep(_result: CallResult) -> None:
        raise OSError("the disk is full")

    async with memory_mesh(tmp_path, {"echo": echo}) as (_, client, worker):
        result = await client.run(CallRequest(tool="echo", arguments={"n": 1}), keep=keep)
        assert result.error is not None
        assert result.error.code is ErrorCode.INTERNAL_ERROR
        assert "the disk is full" in result.error.message
        assert result.invocation in result.error.hint
        await until(lambda: worker.stored == [result.invocation], "the stored result")
        assert worker.confirmed == []
        stored = await client.find_result(result.invocation, "default")
        assert stored is not None
        assert stored.data == {"n": 1}


async def test_an_observer_holds_a_call_at_each_of_the_executors_steps(tmp_path: Path) -> None:
    """The steps come in order, and what lies behind a step does not happen before its observer returns."""
    seen: list[tuple[CallStep, int, int]] = []
    worker_of: list[ScriptedWorker] = []
    kept: list[CallResult] = []

    async def observe(step: CallStep, _invocation: str) -> None:
        await asyncio.sleep(0.05)
        seen.append((step, len(kept), len(worker_of[0].confirmed)))

    async def keep(result: CallResult) -> None:
        kept.append(result)

    async with memory_mesh(tmp_path, {"echo": echo}, observer=observe) as (_, client, worker):
        worker_of.append(worker)
        # An instant worker answers before the publish is told as acknowledged: hold it up.
        worker.tools["echo"] = _late_echo
        call = await client.start(CallRequest(tool="echo"), keep=keep)
        await call.result()
        await until(lambda: client.open_calls == 0, "the end of the call")
    assert seen == [
        (CallStep.WAITER_REGISTERED, 0, 0),
        (CallStep.PUBLISHED, 0, 0),
        (CallStep.RESULT_RECEIVED, 0, 0),
        (CallStep.HANDED_OVER, 1, 0),
        (CallStep.CONFIRMED, 1, 1),
    ]


async def _late_echo(job: Job) -> Result:
    await asyncio.sleep(0.3)
    return await echo(job)


@pytest.mark.requirement("call:confirm-or-store")
async def test_processes_that_share_an_id_confirm_their_own_calls_and_hear_no_others(tmp_path: Path) -> None:
    """With an idle second process every result is confirmed, none stored; nobody listens to all of an id's replies."""
    settings = client_settings(tmp_path, executor="client", shared=True)
    async with memory_mesh(tmp_path, {"echo": echo}, executor="client", shared=True) as (hub, client, worker):
        async with client_over(worker_broker(hub, "idle"), settings) as idle:
            results = await asyncio.gather(*(client.call("echo", {"n": n}) for n in range(20)))
            assert [result.data["n"] for result in results] == list(range(20))
            await until(lambda: len(worker.confirmed) == 20, "the confirmations")
            both = await asyncio.gather(client.call("echo", {"n": 1}), idle.call("echo", {"n": 2}))
            assert [result.data["n"] for result in both] == [1, 2]
            await until(lambda: len(worker.confirmed) == 22, "the confirmations")
            assert worker.stored == []
            unknown = client.broker.subjects.reply("default", "client", "not-a-call")
            assert not hub.switchboard.send(Message(unknown, b"", {}))


async def test_the_subscription_of_a_call_ends_with_the_call(tmp_path: Path) -> None:
    """Nothing is left listening after a call on a shared id."""
    async with memory_mesh(tmp_path, {"echo": echo}, slots=0, shared=True) as (hub, client, _):
        call = await client.start(CallRequest(tool="echo"))
        subject = client.broker.subjects.reply("default", "executor-1", call.invocation)
        assert hub.switchboard.send(Message(subject, b"", {}))
        await call.cancel()
        await until(lambda: client.open_calls == 0, "the end")
        assert not hub.switchboard.send(Message(subject, b"", {}))
