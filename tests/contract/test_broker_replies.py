"""Replies behave alike on JetStream and in memory."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest
from tests.support.brokers import BROKER_KINDS, POOL, brokers_of_kind, deadline_in

from toolmesh_broker.errors import PayloadTooLargeError
from toolmesh_broker.ports import Broker, Message
from toolmesh_broker.reply_listener import PendingCall, ReceivedResult, ReplyListener
from toolmesh_broker.reply_sender import ReplySender, replying
from toolmesh_broker.results import StoredResults
from toolmesh_contracts.envelopes.reply import ErrorInfo, Outcome, Result, Status, StatusState
from toolmesh_contracts.errors import ErrorCode
from toolmesh_contracts.headers import SCHEMA

pytestmark = pytest.mark.parametrize("kind", BROKER_KINDS)

CALL = "call-1"
EXECUTOR = "ex"


def _result(message: str = "done", attempt: int = 1) -> Result:
    return Result(invocation=CALL, attempt=attempt, tool="t", outcome=Outcome.OK, message=message)


@dataclass(frozen=True)
class TwoEnds:
    """An executor that listens for replies, and a worker that sends them."""

    listener: ReplyListener
    worker: Broker

    def replying(
        self,
        *,
        pool: str = POOL,
        executor: str = EXECUTOR,
        invocation: str = CALL,
        attempt: int = 1,
        worker: str = "w",
    ) -> AbstractAsyncContextManager[ReplySender]:
        """The worker's replies, to the call that the executor waits for unless said otherwise."""
        return replying(
            self.worker, pool=pool, executor=executor, invocation=invocation, attempt=attempt, worker=worker
        )


@asynccontextmanager
async def two_ends(kind: str, folder: Path) -> AsyncIterator[TwoEnds]:
    """Connect both to one broker."""
    async with (
        brokers_of_kind(kind, folder) as brokers,
        brokers.connect(EXECUTOR) as executor,
        brokers.connect("w") as worker,
        ReplyListener.open(executor, EXECUTOR) as listener,
    ):
        yield TwoEnds(listener, worker)


@asynccontextmanager
async def one_call(kind: str, folder: Path) -> AsyncIterator[tuple[TwoEnds, PendingCall, ReplySender]]:
    """Connect both, and have the executor wait for the call and the worker reply to it, 20 s at most."""
    async with (
        two_ends(kind, folder) as ends,
        ends.listener.expect(POOL, CALL) as call,
        ends.replying() as replies,
        asyncio.timeout(20),
    ):
        yield ends, call, replies


async def _arrived(
    call: PendingCall, replies: ReplySender, result: Result
) -> tuple[ReceivedResult, asyncio.Task[bool]]:
    """Send a result; return what the executor got, not yet confirmed, and the worker's wait for that."""
    sending = asyncio.create_task(replies.result(result, timeout_s=10))
    received = await anext(call)
    assert isinstance(received, ReceivedResult)
    return received, sending


async def _events(call: PendingCall) -> list[Status | ReceivedResult]:
    async with asyncio.timeout(10):
        return [event async for event in call]


async def test_statuses_then_the_result_reach_the_waiting_call(kind: str, tmp_path: Path) -> None:
    """In order, and the worker learns of the confirmation."""
    async with one_call(kind, tmp_path) as (_ends, call, replies):
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
    async with one_call(kind, tmp_path) as (_ends, call, replies):
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
        two_ends(kind, tmp_path) as ends,
        ends.listener.expect(POOL, CALL) as call,
    ):
        for pool, invocation in ((POOL, "call-2"), ("other", CALL)):
            async with ends.replying(pool=pool, invocation=invocation) as replies:
                replies.status(StatusState.STARTED)
                result = msgspec.structs.replace(_result(), invocation=invocation)
                assert await replies.result(result, timeout_s=5) is False
        async with ends.replying(executor="gone") as replies:
            assert await replies.result(_result(), timeout_s=5) is False
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await anext(call)


async def test_replies_of_an_older_attempt_are_dropped(kind: str, tmp_path: Path) -> None:
    """Once attempt 2 was heard of, attempt 1 can neither report nor end the call."""
    async with (
        two_ends(kind, tmp_path) as ends,
        ends.listener.expect(POOL, CALL) as call,
        ends.replying(worker="old") as old,
        ends.replying(attempt=2, worker="new") as new,
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
    async with one_call(kind, tmp_path) as (_ends, call, replies):
        received, sending = await _arrived(call, replies, lost)
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
    async with one_call(kind, tmp_path) as (ends, call, replies):
        received, sending = await _arrived(call, replies, result)
        await received.confirm()
        assert await sending is True
        results = StoredResults(ends.worker)
        assert await results.store(POOL, result, deadline_ms=deadline_in(60))
        stored = await results.read(POOL, CALL)
        assert stored is not None
        async with ends.replying(worker="next") as again:
            assert await again.result(stored, timeout_s=5) is True


@pytest.mark.parametrize("waiting", [True, False])
@pytest.mark.requirement("call:one-result")
async def test_a_successor_that_knows_of_no_result_is_told_that_there_is_one(
    kind: str, tmp_path: Path, *, waiting: bool
) -> None:
    """The worker died before its acknowledgement: WORKER_LOST is not stored beside the result that the caller has."""
    error = ErrorInfo(code=ErrorCode.WORKER_LOST, message="unknown")
    lost = Result(invocation=CALL, attempt=1, tool="t", outcome=Outcome.ERROR, message="unknown", error=error)
    async with two_ends(kind, tmp_path) as ends, ends.replying(worker="next") as successor:
        async with ends.listener.expect(POOL, CALL) as call, ends.replying() as replies:
            received, sending = await _arrived(call, replies, _result())
            assert await successor.result(lost, timeout_s=5) is False
            await received.confirm()
            assert await sending is True
            if waiting:
                assert await successor.result(lost, timeout_s=5) is True
        assert await successor.result(lost, timeout_s=5) is True
        assert await successor.result(_result("again"), timeout_s=5) is False
        async with ends.replying(pool="other") as stranger:
            assert await stranger.result(lost, timeout_s=5) is False


async def test_a_result_that_was_not_confirmed_is_refused_at_the_end(kind: str, tmp_path: Path) -> None:
    """An executor that gives up lets the worker store the result at once."""
    async with (
        two_ends(kind, tmp_path) as ends,
        ends.replying() as replies,
        asyncio.timeout(10),
    ):
        async with ends.listener.expect(POOL, CALL) as call:
            sending = asyncio.create_task(replies.result(_result(), timeout_s=30))
            await anext(call)
            with pytest.raises(ValueError, match="waited for"):
                async with ends.listener.expect(POOL, CALL):
                    pass
        assert await sending is False
        assert ends.listener.waiting == 0


async def test_unreadable_replies_harm_nobody(kind: str, tmp_path: Path) -> None:
    """Garbage on a reply subject is dropped, and what follows it is heard."""
    async with one_call(kind, tmp_path) as (ends, call, replies):
        subject = ends.worker.subjects.reply(POOL, EXECUTOR, CALL)
        await ends.worker.publish(subject, b"\xff", {SCHEMA: "status/1"})
        await ends.worker.publish(subject, b"{}", {SCHEMA: "other/9"})
        replies.status(StatusState.STARTED)
        assert isinstance(await anext(call), Status)


async def test_a_garbled_confirmation_counts_as_none(kind: str, tmp_path: Path) -> None:
    """Only a confirmation that can be read is one."""

    async def garble(message: Message) -> None:
        await message.respond(b"yes")

    async with (
        brokers_of_kind(kind, tmp_path) as brokers,
        brokers.connect(EXECUTOR) as executor,
        brokers.connect("w") as worker,
        executor.subscribe(worker.subjects.reply(POOL, EXECUTOR, CALL), garble),
        replying(worker, pool=POOL, executor=EXECUTOR, invocation=CALL, attempt=1, worker="w") as replies,
        asyncio.timeout(10),
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
