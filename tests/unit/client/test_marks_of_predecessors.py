"""A successor finds the mark that its predecessor made at a call's deadline before it died."""

import time

import pytest
from tests.support.tool_client import NAMESPACE, QUICK, worker_broker

from toolmesh_broker.ledger import Ledger
from toolmesh_broker.memory.hub import MemoryHub
from toolmesh_client.supervisor import PublishedCall, Supervisor
from toolmesh_client.waiter import Waiter
from toolmesh_contracts.errors import ErrorCode


@pytest.mark.parametrize(("ran", "code"), [(False, ErrorCode.DEADLINE_EXCEEDED), (True, ErrorCode.WORKER_LOST)])
async def test_a_call_that_never_ran_is_not_told_as_lost(ran: bool, code: ErrorCode) -> None:
    """Marked at its deadline it did not run, unless a worker had taken it before."""
    call = PublishedCall(
        invocation="c1",
        pool="default",
        tool="t",
        executor="one",
        deadline_ms=int((time.time() - 10) * 1000),
        idempotent=False,
        max_attempts=1,
    )
    async with MemoryHub.running(NAMESPACE) as hub:
        broker = worker_broker(hub, "executor")
        ledger = Ledger(broker)
        if ran:
            free = await ledger.look("default", "c1")
            await ledger.take("default", "c1", free, worker="w", deadline_ms=call.deadline_ms, lease_s=-1)
        await ledger.cancel("default", "c1", deadline_ms=call.deadline_ms, reason="its deadline passed")
        waiter = Waiter(status_capacity=1)
        await Supervisor(call, waiter, broker, QUICK).run()
    assert waiter.result is not None
    assert waiter.result.error is not None
    assert waiter.result.error.code is code
