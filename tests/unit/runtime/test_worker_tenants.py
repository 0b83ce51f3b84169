"""A worker's cap on the calls of one tenant, with the queue in memory and calls that end when the test says so."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest
from tests.support.signed_calls import invocation, message
from tests.support.tool_client import until

from toolmesh_broker.memory.broker import MemoryBroker
from toolmesh_broker.memory.hub import MemoryHub
from toolmesh_broker.ports import Delivery, OutgoingInvocation
from toolmesh_contracts.envelopes.invocation import DirectReply, Invocation
from toolmesh_contracts.envelopes.values import Caller
from toolmesh_contracts.ids import new_invocation_id
from toolmesh_contracts.names import Lane
from toolmesh_contracts.wire import decode
from toolmesh_identity.development import DevelopmentIssuer
from toolmesh_runtime.admission import Verifier
from toolmesh_runtime.direct_delivery import DirectDelivery
from toolmesh_runtime.metrics import WorkerMetrics
from toolmesh_runtime.running_calls import RunningCalls
from toolmesh_runtime.running_tenants import RunningTenants
from toolmesh_runtime.worker import Worker

pytestmark = pytest.mark.timeout(30)

POOL = "default"


@dataclass
class HeldCalls:
    """Stands for what a call does: it runs until `end` is set."""

    verifier: Verifier | None = None
    end: asyncio.Event = field(default_factory=asyncio.Event)
    metrics: WorkerMetrics = field(default_factory=WorkerMetrics)
    running: Counter[str] = field(default_factory=Counter)
    most: Counter[str] = field(default_factory=Counter)
    ended: Counter[str] = field(default_factory=Counter)

    async def handle(self, delivery: Delivery) -> None:
        """Run one call of the user that its body names; a direct one has a real invocation."""
        if isinstance(delivery, DirectDelivery):
            await delivery.taken()
            user = decode(Invocation, delivery.body).caller.user
        else:
            user = delivery.body.decode()
        self.running[user] += 1
        self.most[user] = max(self.most[user], self.running[user])
        await self.end.wait()
        await delivery.ack()
        self.running[user] -= 1
        self.ended[user] += 1


async def queue(broker: MemoryBroker, user: str, calls: int) -> None:
    """Put calls of a user into the queue."""
    for _ in range(calls):
        call = OutgoingInvocation(
            pool=POOL,
            subject=broker.subjects.invoke(POOL, Lane.NORMAL, "tester", user),
            invocation=new_invocation_id(),
            body=user.encode(),
            deadline_ms=2_000_000_000_000,
            headers={},
        )
        await broker.publish_invocation(call)


@asynccontextmanager
async def working(broker: MemoryBroker, calls: HeldCalls, *, slots: int, cap: int | None) -> AsyncIterator[Worker]:
    """Run a worker until the end of the block."""
    worker = Worker(
        name="me",
        pool=POOL,
        slots=slots,
        drain_s=5,
        broker=broker,
        handler=cast("Any", calls),
        calls=RunningCalls(),
        tenants=RunningTenants(cap),
    )
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(worker.run(stop))
        try:
            yield worker
        finally:
            calls.end.set()
            stop.set()


@asynccontextmanager
async def bob_behind_ada(hub: MemoryHub, calls_of_ada: int) -> AsyncIterator[HeldCalls]:
    """Run a worker that gives each tenant one of its four slots; bob's only call, behind all of ada's, runs."""
    broker, calls = MemoryBroker(hub, "worker"), HeldCalls()
    await queue(broker, "ada", calls_of_ada)
    await queue(broker, "bob", 1)
    async with working(broker, calls, slots=4, cap=1):
        await until(lambda: calls.running["bob"] == 1, "the other tenant's call")
        yield calls
    assert calls.most == {"ada": 1, "bob": 1}


@pytest.mark.requirement("broker:tenant-cap")
async def test_cap_holds_for_calls_that_were_queued_before_the_worker_came() -> None:
    """All of them are delivered in one burst, before the first one's task has run."""
    async with MemoryHub.running("test") as hub, bob_behind_ada(hub, 6) as calls:
        assert calls.running["ada"] == 1
        calls.end.set()
        await until(lambda: calls.ended["ada"] == 6, "the end of all calls")


async def test_without_a_cap_a_tenant_has_all_slots() -> None:
    """Nothing is postponed."""
    async with MemoryHub.running("test") as hub:
        broker, calls = MemoryBroker(hub, "worker"), HeldCalls()
        await queue(broker, "ada", 6)
        async with working(broker, calls, slots=4, cap=None):
            await until(lambda: calls.running["ada"] == 4, "a call in each slot")
            calls.end.set()
            await until(lambda: calls.ended["ada"] == 6, "the end of all calls")


async def test_direct_calls_count_for_the_cap_of_their_proven_tenant(tmp_path: Path) -> None:
    """One that would be too many is not taken, so that its caller queues it; another tenant's is."""
    issuer = DevelopmentIssuer.create_or_load(tmp_path / "keys")
    verifier = Verifier(
        namespace="test",
        pool=POOL,
        issuer=issuer.name,
        issuer_keys=issuer.issuer_public_keys(),
        executor_keys=issuer.executor_public_keys(),
        sealing_keys=issuer.sealing_keys(POOL),
    )
    async with MemoryHub.running("test") as hub:
        broker, calls = MemoryBroker(hub, "worker"), HeldCalls(verifier)

        async def taken(user: str) -> bool:
            signed = message(issuer, invocation(caller=Caller(user=user, agent="tester")), user=user)
            answer = await broker.request(broker.subjects.direct(POOL, "me"), signed.body, 5, signed.headers)
            return decode(DirectReply, answer.body).taken

        await queue(broker, "ada", 1)
        async with working(broker, calls, slots=4, cap=1):
            await until(lambda: calls.running["ada"] == 1, "the queued call")
            assert [await taken(user) for user in ("ada", "bob", "bob")] == [False, True, False]


@pytest.mark.requirement("broker:tenant-cap")
async def test_capped_tenant_with_many_calls_holds_up_nobody_and_goes_on_at_once() -> None:
    """Behind more of its calls than a worker keeps, another's is reached; those kept end without the queue's help."""
    async with MemoryHub.running("test") as hub:
        async with bob_behind_ada(hub, 40) as calls:
            handed_back = calls.metrics.metrics.registry.get_sample_value(
                "toolmesh_worker_calls_handed_back_total", {"reason": "tenant"}
            )
            assert handed_back == 40 - 1 - 32
            calls.end.set()
            await until(lambda: calls.ended["ada"] == 40, "the end of all calls")
        assert len(hub.queue(MemoryBroker(hub, "onlooker").subjects.invoke_stream(POOL))) == 0


async def test_kept_calls_go_back_when_the_worker_stops() -> None:
    """They are in the queue at once for another worker."""
    async with MemoryHub.running("test", ack_wait_s=60) as hub:
        broker, calls, others = MemoryBroker(hub, "worker"), HeldCalls(), HeldCalls()
        await queue(broker, "ada", 5)
        async with working(broker, calls, slots=2, cap=1):
            await until(lambda: calls.running["ada"] == 1, "the first call")
        async with working(broker, others, slots=2, cap=1):
            others.end.set()
            await until(lambda: calls.ended["ada"] + others.ended["ada"] == 5, "the end of all calls")
        assert calls.ended["ada"] == 1
