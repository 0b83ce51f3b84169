"""The ledger of calls behaves alike on JetStream and in memory."""

import asyncio
import time
from pathlib import Path

import pytest
from tests.support.brokers import BROKER_KINDS, POOL, brokers_of_kind, deadline_in

from toolmesh_broker.errors import LeaseLostError
from toolmesh_broker.ledger import ClaimState, Ledger

pytestmark = pytest.mark.parametrize("kind", BROKER_KINDS)

CALL = "call-1"


async def test_one_of_two_workers_takes_a_free_call(kind: str, tmp_path: Path) -> None:
    """Two claims of the same free call: one lease, attempt 1; the other worker then sees it LIVE."""
    async with brokers_of_kind(kind, tmp_path) as brokers, brokers.connect("a") as broker:
        ledger = Ledger(broker)
        free = await ledger.look(POOL, CALL)
        assert free.state is ClaimState.FREE
        leases = await asyncio.gather(
            *(
                ledger.take(POOL, CALL, free, worker=worker, deadline_ms=deadline_in(60), lease_s=6)
                for worker in ("a", "b")
            )
        )
        (lease,) = [lease for lease in leases if lease is not None]
        assert lease.attempt == 1
        claim = await ledger.look(POOL, CALL)
        assert claim.state is ClaimState.LIVE
        assert claim.entry == lease.entry
        with pytest.raises(ValueError, match="not free"):
            await ledger.take(POOL, CALL, claim, worker="c", deadline_ms=deadline_in(60), lease_s=6)


async def test_a_dead_lease_can_be_taken_over_and_the_old_worker_notices(kind: str, tmp_path: Path) -> None:
    """After the lease ran out the next run is attempt 2, and the first worker's renewal fails."""
    async with brokers_of_kind(kind, tmp_path) as brokers, brokers.connect("a") as broker:
        now = time.time()
        ledger, later = Ledger(broker, lambda: now), Ledger(broker, lambda: now + 7)
        deadline_ms = deadline_in(60)
        free = await ledger.look(POOL, CALL)
        first = await ledger.take(POOL, CALL, free, worker="a", deadline_ms=deadline_ms, lease_s=6)
        assert first is not None
        dead = await later.look(POOL, CALL)
        assert dead.state is ClaimState.DEAD
        second = await later.take(POOL, CALL, dead, worker="b", deadline_ms=deadline_ms, lease_s=6)
        assert second is not None
        assert second.attempt == 2
        with pytest.raises(LeaseLostError):
            await first.renew(6)
        with pytest.raises(LeaseLostError):
            await first.hand_back()
        assert await later.take(POOL, CALL, dead, worker="c", deadline_ms=deadline_ms, lease_s=6) is None


async def test_renewing_prolongs_the_lease(kind: str, tmp_path: Path) -> None:
    """A renewed lease is live beyond its first end."""
    async with brokers_of_kind(kind, tmp_path) as brokers, brokers.connect("a") as broker:
        now = time.time()
        ledger, later = Ledger(broker, lambda: now), Ledger(broker, lambda: now + 7)
        free = await ledger.look(POOL, CALL)
        lease = await ledger.take(POOL, CALL, free, worker="a", deadline_ms=deadline_in(60), lease_s=6)
        assert lease is not None
        await lease.renew(6)
        assert (await later.look(POOL, CALL)).state is ClaimState.DEAD
        await lease.renew(12)
        assert (await later.look(POOL, CALL)).state is ClaimState.LIVE


async def test_handing_back_is_no_attempt(kind: str, tmp_path: Path) -> None:
    """A claim undone before the tool started leaves the count of runs as it was."""
    async with brokers_of_kind(kind, tmp_path) as brokers, brokers.connect("a") as broker:
        now = time.time()
        ledger, later = Ledger(broker, lambda: now), Ledger(broker, lambda: now + 7)
        deadline_ms = deadline_in(60)

        async def take(book: Ledger) -> int:
            claim = await book.look(POOL, CALL)
            lease = await book.take(POOL, CALL, claim, worker="a", deadline_ms=deadline_ms, lease_s=6)
            assert lease is not None
            if lease.attempt == 1 and claim.entry is None and book is ledger:
                await lease.hand_back()
            return lease.attempt

        assert await take(ledger) == 1
        assert (await ledger.look(POOL, CALL)).state is ClaimState.FREE
        free = await ledger.look(POOL, CALL)
        ran = await ledger.take(POOL, CALL, free, worker="a", deadline_ms=deadline_ms, lease_s=6)
        assert ran is not None
        dead = await later.look(POOL, CALL)
        second = await later.take(POOL, CALL, dead, worker="b", deadline_ms=deadline_ms, lease_s=6)
        assert second is not None
        assert second.attempt == 2
        await second.hand_back()
        assert (await later.look(POOL, CALL)).entry == ran.entry
        assert await take(later) == 2


async def test_cancel_wins_over_a_free_call_and_loses_to_a_running_one(kind: str, tmp_path: Path) -> None:
    """Exactly one of run and cancel: a cancelled call can't be taken, a running one is told apart."""
    async with brokers_of_kind(kind, tmp_path) as brokers, brokers.connect("a") as broker:
        ledger = Ledger(broker)
        deadline_ms = deadline_in(60)
        free = await ledger.look(POOL, CALL)
        cancelled = await ledger.cancel(POOL, CALL, deadline_ms=deadline_ms, reason="changed my mind")
        assert cancelled.state is ClaimState.CANCELLED
        assert await ledger.take(POOL, CALL, free, worker="a", deadline_ms=deadline_ms, lease_s=6) is None
        assert (await ledger.look(POOL, CALL)).state is ClaimState.CANCELLED

        other = await ledger.look(POOL, "call-2")
        assert await ledger.take(POOL, "call-2", other, worker="a", deadline_ms=deadline_ms, lease_s=6) is not None
        running = await ledger.cancel(POOL, "call-2", deadline_ms=deadline_ms)
        assert running.state is ClaimState.LIVE
        assert running.entry is not None
        assert running.entry.worker == "a"


@pytest.mark.requirement("call:one-winner")
async def test_run_and_cancel_at_once_have_one_winner(kind: str, tmp_path: Path) -> None:
    """Raced twenty times: never both, never neither."""
    async with brokers_of_kind(kind, tmp_path) as brokers, brokers.connect("a") as a, brokers.connect("b") as b:
        worker, executor = Ledger(a), Ledger(b)
        deadline_ms = deadline_in(60)
        for number in range(20):
            call = f"race-{number}"
            free = await worker.look(POOL, call)
            lease, claim = await asyncio.gather(
                worker.take(POOL, call, free, worker="a", deadline_ms=deadline_ms, lease_s=6),
                executor.cancel(POOL, call, deadline_ms=deadline_ms),
            )
            assert (lease is None) == (claim.state is ClaimState.CANCELLED)
