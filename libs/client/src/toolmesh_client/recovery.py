"""Calls that a predecessor announced and left: how they end, and how they are stopped."""

import time

from toolmesh_broker.ledger import ClaimState, Ledger
from toolmesh_broker.ports import Broker
from toolmesh_broker.results import StoredResults
from toolmesh_broker.task_scope import task_scope
from toolmesh_client.settings import ClientSettings
from toolmesh_client.supervisor import PublishedCall, Supervisor, tell_worker
from toolmesh_client.waiter import Waiter
from toolmesh_contracts.envelopes.reply import Result
from toolmesh_contracts.errors import ErrorCode

__all__ = ["cancel_call", "recovered_result"]

_NOT_RUN = "the one who made this call is gone"


async def recovered_result(broker: Broker, call: PublishedCall, settings: ClientSettings) -> Result | None:
    """Wait for a call's result; None if the call was never run, which it then never will be.

    Raises:
        BrokerError: the broker can't be asked.
    """
    stored, ledger = StoredResults(broker), Ledger(broker)
    # It may wait in the queue, or never have got there: no worker is to begin it any more.
    claim = await ledger.look(call.pool, call.invocation)
    if claim.state is ClaimState.FREE:
        claim = await ledger.cancel(call.pool, call.invocation, deadline_ms=_later(call), reason=_NOT_RUN)
    result = await stored.read(call.pool, call.invocation)
    if claim.state is ClaimState.CANCELLED and claim.entry is not None and claim.entry.attempt == 0:
        return None if result is None or _only_withdrawn(result) else result
    if result is not None:
        return result
    waiter = Waiter(status_capacity=1)
    supervisor = Supervisor(call, waiter, broker, settings.patience)
    supervisor.reconnected()
    async with task_scope() as group:
        looking = group.create_task(supervisor.run())
        result = await waiter.wait()
        looking.cancel()
    return result


def _only_withdrawn(result: Result) -> bool:
    """Tell a worker's word that it found a call cancelled, here or by a successor before us, from all other results."""
    return result.attempt == 0 and result.error is not None and result.error.code is ErrorCode.CANCELLED


async def cancel_call(broker: Broker, call: PublishedCall, reason: str) -> None:
    """Mark a call as cancelled, or tell the worker that runs it.

    Raises:
        BrokerError: the broker can't be asked.
    """
    claim = await Ledger(broker).cancel(call.pool, call.invocation, deadline_ms=_later(call), reason=reason)
    if claim.state is ClaimState.LIVE:
        await tell_worker(broker, call, claim, reason)


def _later(call: PublishedCall) -> int:
    """Return the deadline, or now if that has passed: an entry of the ledger lives for some time after it."""
    return max(call.deadline_ms, time.time_ns() // 1_000_000)
