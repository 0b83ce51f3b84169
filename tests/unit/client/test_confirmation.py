"""A worker hears that its result is safe from the process that waits for it, and only once that has it."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
from tests.support.scripted_worker import Job, echo
from tests.support.tool_client import client_settings, memory_mesh, until, worker_broker

from toolmesh_broker.memory.broker import MemoryBroker
from toolmesh_broker.memory.hub import MemoryHub
from toolmesh_broker.memory.payload_store import MemoryPayloadStore
from toolmesh_broker.ports import Message
from toolmesh_client import CallRequest, client_over
from toolmesh_contracts.envelopes.reply import Outcome, Result
from toolmesh_contracts.envelopes.values import PayloadRef

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
