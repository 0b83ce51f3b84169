"""A worker's cap on the calls of one tenant, with the queue in memory and calls that end when the test says so."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from tests.support.tool_client import until

from toolmesh_broker.memory.broker import MemoryBroker
from toolmesh_broker.memory.hub import MemoryHub
from toolmesh_broker.ports import Delivery, OutgoingInvocation
from toolmesh_contracts.ids import new_invocation_id
from toolmesh_contracts.names import Lane
from toolmesh_runtime.metrics import WorkerMetrics
from toolmesh_runtime.running_calls import RunningCalls
from toolmesh_runtime.running_tenants import RunningTenants
from toolmesh_runtime.worker import Worker

pytestmark = pytest.mark.timeout(30)

POOL = "default"


@dataclass
class HeldCalls:
    """Stands for what a call does: it runs until `end` is set."""

    end: asyncio.Event = field(default_factory=asyncio.Event)
    metrics: WorkerMetrics = field(default_factory=WorkerMetrics)
    running: Counter[str] = field(default_factory=Counter)
    most: Counter[str] = field(default_factory=Counter)
    ended: Counter[str] = field(default_factory=Counter)

    async def handle(self, delivery: Delivery) -> None:
        """Run one call of the user that its body names."""
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


@pytest.mark.requirement("broker:tenant-cap")
async def test_cap_holds_for_calls_that_were_queued_before_the_worker_came() -> None:
    """All of them are delivered in one burst, before the first one's task has run."""
    async with MemoryHub.running("test") as hub:
        broker, calls = MemoryBroker(hub, "worker"), HeldCalls()
        await queue(broker, "ada", 6)
        await queue(broker, "bob", 1)
        async with working(broker, calls, slots=4, cap=1):
            await until(lambda: calls.running["bob"] == 1, "the other tenant's call")
            assert calls.running["ada"] == 1
            calls.end.set()
            await until(lambda: calls.ended["ada"] == 6, "the end of all calls")
        assert calls.most == {"ada": 1, "bob": 1}


async def test_without_a_cap_a_tenant_has_all_slots() -> None:
    """Nothing is postponed."""
    async with MemoryHub.running("test") as hub:
        broker, calls = MemoryBroker(hub, "worker"), HeldCalls()
        await queue(broker, "ada", 6)
        async with working(broker, calls, slots=4, cap=None):
            await until(lambda: calls.running["ada"] == 4, "a call in each slot")
            calls.end.set()
            await until(lambda: calls.ended["ada"] == 6, "the end of all calls")
