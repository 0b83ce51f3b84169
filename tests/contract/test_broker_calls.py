"""Ledger, stored results, replies and dead letters behave alike on JetStream and in memory."""

import asyncio
import time
from pathlib import Path

import msgspec
import pytest
from tests.support.brokers import BROKER_KINDS, POOL, brokers_of_kind, deadline_in, outgoing

from toolmesh_broker.claim_check import INLINE_LIMIT_BYTES, check_in, check_out
from toolmesh_broker.dead_letters import bury
from toolmesh_broker.errors import LeaseLostError, PayloadTooLargeError
from toolmesh_broker.ledger import ClaimState, Ledger
from toolmesh_broker.ports import Message
from toolmesh_broker.reply_listener import PendingCall, ReceivedResult, ReplyListener
from toolmesh_broker.reply_sender import replying
from toolmesh_broker.results import StoredResults
from toolmesh_contracts.envelopes.reply import Outcome, Result, Status, StatusState
from toolmesh_contracts.errors import ErrorCode
from toolmesh_contracts.headers import SCHEMA

pytestmark = pytest.mark.parametrize("kind", BROKER_KINDS)

CALL = "call-1"


def _result(message: str = "done", attempt: int = 1) -> Result:
    return Result(invocation=CALL, attempt=attempt, tool="t", outcome=Outcome.OK, message=message)


# -- ledger


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


# -- results


@pytest.mark.requirement("call:confirm-or-store")
async def test_the_first_stored_result_stays(kind: str, tmp_path: Path) -> None:
    """Stored once: a second result of the call changes nothing."""
    async with brokers_of_kind(kind, tmp_path) as brokers, brokers.connect("a") as broker:
        results = StoredResults(broker)
        assert await results.read(POOL, CALL) is None
        assert await results.store(POOL, _result("first"), deadline_ms=deadline_in(60)) is True
        assert await results.store(POOL, _result("second"), deadline_ms=deadline_in(60)) is False
        assert await results.read(POOL, CALL) == _result("first")


# -- replies


async def _events(call: PendingCall) -> list[Status | ReceivedResult]:
    async with asyncio.timeout(10):
        return [event async for event in call]


async def test_statuses_then_the_result_reach_the_waiting_call(kind: str, tmp_path: Path) -> None:
    """In order, and the worker learns of the confirmation."""
    async with (
        brokers_of_kind(kind, tmp_path) as brokers,
        brokers.connect("ex") as executor,
        brokers.connect("w") as worker,
        ReplyListener.open(executor, "ex") as listener,
        listener.expect(POOL, CALL) as call,
        replying(worker, pool=POOL, executor="ex", invocation=CALL, attempt=1, worker="w") as replies,
    ):
        replies.status(StatusState.STARTED)
        async with asyncio.timeout(10):
            started = await anext(call)
            assert isinstance(started, Status)
            assert started.state is StatusState.STARTED
            replies.status(StatusState.PROGRESS, "half")
            sending = asyncio.create_task(replies.result(_result(), timeout_s=10))
            progress = await anext(call)
            assert isinstance(progress, Status)
            assert progress.text == "half"
            received = await anext(call)
            assert isinstance(received, ReceivedResult)
            assert received.result.message == "done"
            assert not sending.done()
            await received.confirm()
            assert await sending is True
            with pytest.raises(StopAsyncIteration):
                await anext(call)
            # A repeat after a lost confirmation is confirmed at once.
            assert await replies.result(_result(), timeout_s=5) is True


async def test_many_statuses_are_merged_and_the_last_one_arrives(kind: str, tmp_path: Path) -> None:
    """A chatty tool costs at most ten messages a second, and its last word is heard before the result."""
    async with (
        brokers_of_kind(kind, tmp_path) as brokers,
        brokers.connect("ex") as executor,
        brokers.connect("w") as worker,
        ReplyListener.open(executor, "ex") as listener,
        listener.expect(POOL, CALL) as call,
        replying(worker, pool=POOL, executor="ex", invocation=CALL, attempt=1, worker="w") as replies,
    ):
        for number in range(1000):
            replies.status(StatusState.PROGRESS, f"{number}" + "x" * 5000)
            if number % 100 == 0:
                await asyncio.sleep(0.001)
        sending = asyncio.create_task(replies.result(_result(), timeout_s=10))
        statuses = []
        async with asyncio.timeout(10):
            async for event in call:
                if isinstance(event, Status):
                    statuses.append(event)
                else:
                    await event.confirm()
        assert await sending is True
        assert 1 <= len(statuses) <= 12
        assert statuses[-1].text.startswith("999x")
        assert len(statuses[-1].text) == 4096


async def test_a_result_of_an_unknown_call_or_pool_is_not_confirmed(kind: str, tmp_path: Path) -> None:
    """Never confirmed for an id that nobody waits for, nor from a pool that the call was not sent to."""
    async with (
        brokers_of_kind(kind, tmp_path) as brokers,
        brokers.connect("ex") as executor,
        brokers.connect("w") as worker,
        ReplyListener.open(executor, "ex") as listener,
        listener.expect(POOL, CALL) as call,
    ):
        for pool, invocation in ((POOL, "call-2"), ("other", CALL)):
            async with replying(
                worker, pool=pool, executor="ex", invocation=invocation, attempt=1, worker="w"
            ) as replies:
                replies.status(StatusState.STARTED)
                result = msgspec.structs.replace(_result(), invocation=invocation)
                assert await replies.result(result, timeout_s=5) is False
        async with replying(worker, pool=POOL, executor="gone", invocation=CALL, attempt=1, worker="w") as replies:
            assert await replies.result(_result(), timeout_s=5) is False
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await anext(call)


async def test_replies_of_an_older_attempt_are_dropped(kind: str, tmp_path: Path) -> None:
    """Once attempt 2 was heard of, attempt 1 can neither report nor end the call."""
    async with (
        brokers_of_kind(kind, tmp_path) as brokers,
        brokers.connect("ex") as executor,
        brokers.connect("w") as worker,
        ReplyListener.open(executor, "ex") as listener,
        listener.expect(POOL, CALL) as call,
        replying(worker, pool=POOL, executor="ex", invocation=CALL, attempt=1, worker="old") as old,
        replying(worker, pool=POOL, executor="ex", invocation=CALL, attempt=2, worker="new") as new,
    ):
        new.status(StatusState.STARTED)
        async with asyncio.timeout(10):
            await anext(call)
        old.status(StatusState.PROGRESS, "late")
        assert await old.result(_result("old"), timeout_s=5) is False
        sending = asyncio.create_task(new.result(_result("new", attempt=2), timeout_s=10))
        (received,) = await _events(call)
        assert isinstance(received, ReceivedResult)
        assert received.result.message == "new"
        await received.confirm()
        assert await sending is True


@pytest.mark.parametrize("confirmed_before", [True, False])
@pytest.mark.requirement("call:one-result")
async def test_another_result_of_the_same_attempt_is_refused(
    kind: str, tmp_path: Path, *, confirmed_before: bool
) -> None:
    """A successor's WORKER_LOST was taken: the slow worker's own result is not confirmed, and so stored, not dropped."""
    lost = msgspec.structs.replace(_result("lost"), outcome=Outcome.ERROR, worker="successor")
    own = msgspec.structs.replace(_result("own"), data=msgspec.Raw(b'{"a": 1}'), worker="w")
    async with (
        brokers_of_kind(kind, tmp_path) as brokers,
        brokers.connect("ex") as executor,
        brokers.connect("w") as worker,
        ReplyListener.open(executor, "ex") as listener,
        listener.expect(POOL, CALL) as call,
        replying(worker, pool=POOL, executor="ex", invocation=CALL, attempt=1, worker="w") as replies,
        asyncio.timeout(20),
    ):
        sending = asyncio.create_task(replies.result(lost, timeout_s=10))
        received = await anext(call)
        assert isinstance(received, ReceivedResult)
        if confirmed_before:
            await received.confirm()
            assert await sending is True
        for different in (own, msgspec.structs.replace(lost, worker="another"), _result("lost")):
            assert await replies.result(different, timeout_s=5) is False
        repeated = asyncio.create_task(replies.result(lost, timeout_s=10))
        await received.confirm()
        assert await repeated is True
        assert await sending is True
        assert received.result.message == "lost"


@pytest.mark.requirement("call:one-result")
async def test_a_repeat_of_a_result_with_data_is_known_as_one(kind: str, tmp_path: Path) -> None:
    """The same result sent again, as after a lost confirmation or from the store, is confirmed."""
    result = msgspec.structs.replace(_result(), data=msgspec.Raw(b'{"a": [1, 2.50]}'), worker="w")
    async with (
        brokers_of_kind(kind, tmp_path) as brokers,
        brokers.connect("ex") as executor,
        brokers.connect("w") as worker,
        ReplyListener.open(executor, "ex") as listener,
        listener.expect(POOL, CALL) as call,
        replying(worker, pool=POOL, executor="ex", invocation=CALL, attempt=1, worker="w") as replies,
        asyncio.timeout(20),
    ):
        sending = asyncio.create_task(replies.result(result, timeout_s=10))
        received = await anext(call)
        assert isinstance(received, ReceivedResult)
        await received.confirm()
        assert await sending is True
        results = StoredResults(worker)
        assert await results.store(POOL, result, deadline_ms=deadline_in(60))
        stored = await results.read(POOL, CALL)
        assert stored is not None
        async with replying(worker, pool=POOL, executor="ex", invocation=CALL, attempt=1, worker="next") as again:
            assert await again.result(stored, timeout_s=5) is True


async def test_a_result_that_was_not_confirmed_is_refused_at_the_end(kind: str, tmp_path: Path) -> None:
    """An executor that gives up lets the worker store the result at once."""
    async with (
        brokers_of_kind(kind, tmp_path) as brokers,
        brokers.connect("ex") as executor,
        brokers.connect("w") as worker,
        ReplyListener.open(executor, "ex") as listener,
        replying(worker, pool=POOL, executor="ex", invocation=CALL, attempt=1, worker="w") as replies,
        asyncio.timeout(10),
    ):
        async with listener.expect(POOL, CALL) as call:
            sending = asyncio.create_task(replies.result(_result(), timeout_s=30))
            await anext(call)
            with pytest.raises(ValueError, match="waited for"):
                async with listener.expect(POOL, CALL):
                    pass
        assert await sending is False
        assert listener.waiting == 0


async def test_unreadable_replies_and_answers_harm_nobody(kind: str, tmp_path: Path) -> None:
    """Garbage on a reply subject is dropped; a garbled confirmation counts as none."""
    async with (
        brokers_of_kind(kind, tmp_path) as brokers,
        brokers.connect("ex") as executor,
        brokers.connect("w") as worker,
        asyncio.timeout(10),
    ):
        subject = worker.subjects.reply(POOL, "ex", CALL)
        async with ReplyListener.open(executor, "ex") as listener, listener.expect(POOL, CALL) as call:
            await worker.publish(subject, b"\xff", {SCHEMA: "status/1"})
            await worker.publish(subject, b"{}", {SCHEMA: "other/9"})
            async with replying(worker, pool=POOL, executor="ex", invocation=CALL, attempt=1, worker="w") as replies:
                replies.status(StatusState.STARTED)
                assert isinstance(await anext(call), Status)

        async def garble(message: Message) -> None:
            await message.respond(b"yes")

        async with (
            executor.subscribe(subject, garble),
            replying(worker, pool=POOL, executor="ex", invocation=CALL, attempt=1, worker="w") as replies,
        ):
            assert await replies.result(_result(), timeout_s=5) is False


async def test_too_large_a_result_is_an_error_for_the_worker(kind: str, tmp_path: Path) -> None:
    """It belongs behind a claim check; it is not silently lost."""
    async with (
        brokers_of_kind(kind, tmp_path) as brokers,
        brokers.connect("w") as worker,
        replying(worker, pool=POOL, executor="ex", invocation=CALL, attempt=1, worker="w") as replies,
    ):
        with pytest.raises(PayloadTooLargeError):
            await replies.result(_result("x" * 1_100_000), timeout_s=5)


# -- claim check and dead letters


async def test_only_large_contents_go_through_the_store(kind: str, tmp_path: Path) -> None:
    """256 KiB travel inline; one byte more is a reference, read back with a limit."""
    async with brokers_of_kind(kind, tmp_path) as brokers, brokers.connect("a") as broker:
        store = broker.payloads(POOL)
        assert await check_in(store, "x", b"a" * INLINE_LIMIT_BYTES, 60) is None
        content = b"a" * (INLINE_LIMIT_BYTES + 1)
        ref = await check_in(store, "x", content, 60)
        assert ref is not None
        assert await check_out(store, ref, max_bytes=len(content)) == content
        with pytest.raises(PayloadTooLargeError):
            await check_out(store, ref, max_bytes=len(content) - 1)


@pytest.mark.requirement("call:dead-letters")
@pytest.mark.parametrize("size", [8, 1_040_000])
async def test_a_buried_call_leaves_the_queue(kind: str, size: int, tmp_path: Path) -> None:
    """Moved to the dead letters, the call is not delivered again and can't be withdrawn; also one of the largest size."""
    async with brokers_of_kind(kind, tmp_path) as brokers, brokers.connect("w") as broker:
        receipt = await broker.publish_invocation(outgoing(b"not json".ljust(size), invocation=CALL))
        async with broker.consume(POOL, lambda: 1) as intake, asyncio.timeout(10):
            delivery = await anext(intake)
            await bury(broker, POOL, delivery, code=ErrorCode.INVALID_REQUEST, reason="no JSON", worker="w")
        assert await broker.delete_invocation(receipt) is False
