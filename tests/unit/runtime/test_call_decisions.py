"""What a worker decides about a delivery from what the ledger says of the call, before it looks at its own tools."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from prometheus_client import generate_latest
from tests.support.signed_calls import invocation, message

from toolmesh_broker.errors import BrokerTimeoutError, LeaseLostError
from toolmesh_broker.ledger import Claim, ClaimState, Lease, Ledger
from toolmesh_broker.memory.broker import MemoryBroker
from toolmesh_broker.memory.hub import MemoryHub
from toolmesh_broker.results import StoredResults
from toolmesh_contracts.envelopes.reply import Result
from toolmesh_contracts.errors import ErrorCode
from toolmesh_identity.development import DevelopmentIssuer
from toolmesh_runtime.admission import Verifier
from toolmesh_runtime.handed_back import HandedBack
from toolmesh_runtime.lease_keeper import LeaseKeeper
from toolmesh_runtime.metrics import WorkerMetrics
from toolmesh_runtime.one_call import CallHandler
from toolmesh_runtime.running_calls import RunningCalls
from toolmesh_runtime.settlement import Settlement


@asynccontextmanager
async def worker_without_tools(
    folder: Path, lease_s: float = 6
) -> AsyncIterator[tuple[CallHandler, DevelopmentIssuer, MemoryBroker]]:
    """A worker that has no tool at all, on the in-memory broker."""
    issuer = DevelopmentIssuer.create_or_load(folder / "keys")
    verifier = Verifier(
        namespace="test",
        pool="default",
        issuer=issuer.name,
        issuer_keys=issuer.issuer_public_keys(),
        executor_keys=issuer.executor_public_keys(),
        sealing_keys=issuer.sealing_keys("default"),
    )
    async with MemoryHub.running("test") as hub:
        broker = MemoryBroker(hub, "worker")
        metrics = WorkerMetrics()
        handler = CallHandler(
            worker="me",
            broker=broker,
            verifier=verifier,
            discovery=cast("Any", SimpleNamespace(served=lambda _name, _version: None)),
            ledger=Ledger(broker),
            settlement=Settlement(broker, "me", metrics),
            tool_calls=cast("Any", None),
            calls=RunningCalls(),
            metrics=metrics,
            lease_s=lease_s,
            renew_s=lease_s / 3,
        )
        yield handler, issuer, broker


async def stored(broker: MemoryBroker, call: str) -> Result | None:
    return await StoredResults(broker).read("default", call)


async def test_call_that_runs_elsewhere_is_left_alone(tmp_path: Path) -> None:
    """A worker without the tool that meets a redelivery of a live call says nothing about it."""
    async with worker_without_tools(tmp_path) as (handler, issuer, broker):
        call = invocation()
        claim = await handler.ledger.look("default", call.id)
        await handler.ledger.take("default", call.id, claim, worker="other", deadline_ms=call.deadline_ms, lease_s=6)
        delivered = message(issuer, call)
        await handler.handle(delivered)
        assert delivered.settled == ["nak"]
        assert await stored(broker, call.id) is None


async def test_dead_worker_is_answered_for_only_after_the_ledger_agrees(tmp_path: Path) -> None:
    """At the deadline of a call whose worker died the answer is WORKER_LOST, and the dead can't come back."""
    async with worker_without_tools(tmp_path) as (handler, issuer, broker):
        call = invocation(deadline_ms=int((time.time() + 1) * 1000))
        delivered = message(issuer, call)
        claim = await handler.ledger.look("default", call.id)
        lease = await handler.ledger.take(
            "default", call.id, claim, worker="other", deadline_ms=call.deadline_ms, lease_s=-1
        )
        assert lease is not None
        late = handler
        object.__setattr__(late, "handed_back", OldHandedBack())
        await late.handle(delivered)
        assert delivered.settled == ["ack"]
        result = await stored(broker, call.id)
        assert result is not None
        assert result.error is not None
        assert result.error.code is ErrorCode.WORKER_LOST
        assert "other" in result.error.message
        assert (await handler.ledger.look("default", call.id)).state is ClaimState.CANCELLED


class OldHandedBack(HandedBack):
    """Every call has been here for long."""

    def for_longer_than(self, invocation: str, seconds: float) -> bool:
        """Always."""
        return True


async def test_call_is_handed_back_until_nobody_can_have_its_tool(tmp_path: Path) -> None:
    """First it is left to others; only a call met again and again for long is answered. Its tool's name is no label."""
    async with worker_without_tools(tmp_path) as (handler, issuer, broker):
        call = invocation()
        first = message(issuer, call)
        await handler.handle(first)
        assert first.settled == ["nak"]
        object.__setattr__(handler, "handed_back", OldHandedBack())
        last = message(issuer, call)
        await handler.handle(last)
        assert last.settled == ["ack"]
        result = await stored(broker, call.id)
        assert result is not None
        assert result.error is not None
        assert result.error.code is ErrorCode.TOOL_NOT_AVAILABLE
        shown = generate_latest(handler.metrics.metrics.registry).decode()
        assert 'toolmesh_worker_calls_total{code="TOOL_NOT_AVAILABLE",outcome="error",tool=""} 1.0' in shown
        assert f'tool="{call.tool}"' not in shown


async def test_fault_of_the_worker_is_answered_after_a_few_deliveries(tmp_path: Path) -> None:
    """A call on which workers fail again and again leaves the queue, with an answer and a dead letter."""
    async with worker_without_tools(tmp_path) as (handler, issuer, broker):
        object.__setattr__(handler, "ledger", SimpleNamespace())  # has no `look`: an unforeseen fault
        call = invocation()
        first = message(issuer, call)
        await handler.handle(first)
        assert first.settled == []
        third = message(issuer, call)
        third.delivered = 3
        await handler.handle(third)
        assert third.settled == ["term"]
        result = await stored(broker, call.id)
        assert result is not None
        assert result.error is not None
        assert result.error.code is ErrorCode.INTERNAL_ERROR


def test_a_call_met_again_is_remembered_from_its_first_time() -> None:
    """The time runs from the first hand-back, not from the call's age."""
    seen = HandedBack()
    assert not seen.for_longer_than("a", 0.5)
    assert seen.for_longer_than("a", 0.0)


class LateLedger(Ledger):
    """Its answer takes longer than a lease; `meanwhile` is called when that is over."""

    async def meanwhile(self, invocation: str, deadline_ms: int) -> None:
        """Nothing happens."""

    async def take(self, pool: str, invocation: str, claim: Claim, **asked: Any) -> Lease | None:
        """Take, and tell late."""
        lease = await super().take(pool, invocation, claim, **asked)
        await asyncio.sleep(2 * asked["lease_s"])
        await self.meanwhile(invocation, asked["deadline_ms"])
        return lease


class LateAndLost(LateLedger):
    """Meanwhile someone else finds the lease dead."""

    async def meanwhile(self, invocation: str, deadline_ms: int) -> None:
        """Answer for its worker."""
        claim = await self.cancel("default", invocation, deadline_ms=deadline_ms)
        assert claim.state is ClaimState.CANCELLED


async def test_lease_that_was_granted_late_is_renewed_before_the_tool_starts(tmp_path: Path) -> None:
    """It counts from the question; a ledger that chose another leader meanwhile has let it run out."""
    async with worker_without_tools(tmp_path, lease_s=0.5) as (handler, _issuer, broker):
        call = invocation()
        object.__setattr__(handler, "ledger", LateLedger(broker))
        taken = await handler._take(call, await handler.ledger.look("default", call.id))
        assert taken is not None
        assert time.monotonic() < taken.valid_until
        assert (await handler.ledger.look("default", call.id)).state is ClaimState.LIVE


async def test_lease_that_was_granted_late_and_lost_starts_no_tool(tmp_path: Path) -> None:
    """Whoever found it dead has answered for the call."""
    async with worker_without_tools(tmp_path, lease_s=0.1) as (handler, _issuer, broker):
        call = invocation()
        object.__setattr__(handler, "ledger", LateAndLost(broker))
        with pytest.raises(LeaseLostError):
            await handler._take(call, await handler.ledger.look("default", call.id))


class SilentLease(Lease):
    """Its renewals get no answer."""

    async def renew(self, lease_s: float) -> None:
        """Say that nobody answers."""
        raise BrokerTimeoutError("no answer")


class LateAndSilent(LateLedger):
    """Nobody answers the renewal of what it has granted."""

    async def take(self, pool: str, invocation: str, claim: Claim, **asked: Any) -> Lease | None:
        """Take, and tell late."""
        lease = await super().take(pool, invocation, claim, **asked)
        assert lease is not None
        lease.__class__ = SilentLease
        return lease


async def test_lease_that_was_granted_late_and_cannot_be_renewed_is_handed_back(tmp_path: Path) -> None:
    """Nothing has run: a successor must not answer that the outcome is unknown."""
    async with worker_without_tools(tmp_path, lease_s=0.1) as (handler, _issuer, broker):
        call = invocation()
        object.__setattr__(handler, "ledger", LateAndSilent(broker))
        with pytest.raises(BrokerTimeoutError):
            await handler._take(call, await handler.ledger.look("default", call.id))
        assert (await handler.ledger.look("default", call.id)).state is ClaimState.FREE


async def test_keeper_gives_up_when_the_ledger_does_and_not_later(tmp_path: Path) -> None:
    """What was granted a while ago ends that much sooner, whatever the lease is worth when it begins."""
    async with worker_without_tools(tmp_path) as (handler, _issuer, _broker):
        call = invocation()
        free = await handler.ledger.look("default", call.id)
        lease = await handler.ledger.take(
            "default", call.id, free, worker="w", deadline_ms=call.deadline_ms, lease_s=60
        )
        assert lease is not None
        keeper = LeaseKeeper(lease, cast("Any", None), 60, 0.01, time.monotonic(), _nothing)
        async with asyncio.timeout(10):
            with pytest.raises(LeaseLostError, match="ran out"):
                await keeper.keep()


async def _nothing() -> None:
    """What is done after a renewal."""
