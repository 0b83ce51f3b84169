"""Core messages, requests, plain streams and payloads behave alike on JetStream and in memory."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
from tests.support.brokers import BROKER_KINDS, POOL, brokers_of_kind, eventually

from toolmesh_broker.errors import (
    BrokerTimeoutError,
    NoRespondersError,
    PayloadCorruptError,
    PayloadMissingError,
    PayloadTooLargeError,
)
from toolmesh_broker.ports import Message

pytestmark = pytest.mark.parametrize("kind", BROKER_KINDS)

SUBJECT = "tm.contract.test.echo"


async def test_a_request_is_answered(kind: str, tmp_path: Path) -> None:
    """Body and headers reach the handler; its answer comes back."""
    async with brokers_of_kind(kind, tmp_path) as brokers, brokers.connect("a") as a, brokers.connect("b") as b:

        async def echo(message: Message) -> None:
            await message.respond(message.body + message.headers["X-Note"].encode())

        async with b.subscribe(SUBJECT, echo):
            answer = await a.request(SUBJECT, b"hello ", 5, {"X-Note": "über"})
        assert answer.body == "hello über".encode()


async def test_a_request_without_a_listener_fails_at_once(kind: str, tmp_path: Path) -> None:
    """Nobody there is told without waiting for the timeout."""
    async with brokers_of_kind(kind, tmp_path) as brokers, brokers.connect("a") as broker, asyncio.timeout(5):
        with pytest.raises(NoRespondersError):
            await broker.request(SUBJECT, b"", 30)


async def test_a_request_that_nobody_answers_times_out(kind: str, tmp_path: Path) -> None:
    """A silent listener ends in BrokerTimeoutError, and the connection goes on."""
    async with brokers_of_kind(kind, tmp_path) as brokers, brokers.connect("a") as broker:

        async def silent(_message: Message) -> None:
            return

        async with broker.subscribe(SUBJECT, silent):
            with pytest.raises(BrokerTimeoutError):
                await broker.request(SUBJECT, b"", 0.1)
        with pytest.raises(NoRespondersError):
            await broker.request(SUBJECT, b"", 5)


async def test_handlers_start_in_order_and_run_side_by_side(kind: str, tmp_path: Path) -> None:
    """A slow handler does not hold up the next message, and order of arrival is order of start."""
    async with brokers_of_kind(kind, tmp_path) as brokers, brokers.connect("a") as broker:
        started: list[bytes] = []
        go_on = asyncio.Event()

        async def slow(message: Message) -> None:
            started.append(message.body)
            await go_on.wait()

        async with broker.subscribe("tm.contract.test.*", slow):
            for number in range(20):
                await broker.publish(SUBJECT, str(number).encode())
            await eventually(lambda: len(started) == 20)
            go_on.set()
        assert started == [str(number).encode() for number in range(20)]


async def test_concurrency_of_handlers_is_bounded(kind: str, tmp_path: Path) -> None:
    """Never more than the given number of handlers at once."""
    async with brokers_of_kind(kind, tmp_path) as brokers, brokers.connect("a") as broker:
        running = most = done = 0

        async def work(_message: Message) -> None:
            nonlocal running, most, done
            running += 1
            most = max(most, running)
            await asyncio.sleep(0.005)
            running -= 1
            done += 1

        async with broker.subscribe(SUBJECT, work, concurrency=3):
            for _ in range(20):
                await broker.publish(SUBJECT, b"")
            await eventually(lambda: done == 20)
        assert most == 3


async def test_a_failing_handler_does_not_end_the_subscription(kind: str, tmp_path: Path) -> None:
    """One bad message is logged; the next is handled."""
    async with brokers_of_kind(kind, tmp_path) as brokers, brokers.connect("a") as broker:

        async def picky(message: Message) -> None:
            if message.body == b"bad":
                raise ValueError("bad message")
            await message.respond(b"good")

        async with broker.subscribe(SUBJECT, picky):
            await broker.publish(SUBJECT, b"bad")
            assert (await broker.request(SUBJECT, b"fine", 5)).body == b"good"


async def test_a_queue_group_shares_messages(kind: str, tmp_path: Path) -> None:
    """Two members of a group: each message reaches exactly one."""
    async with brokers_of_kind(kind, tmp_path) as brokers, brokers.connect("a") as a, brokers.connect("b") as b:
        got: list[str] = []

        async def first(_message: Message) -> None:
            got.append("first")

        async def second(_message: Message) -> None:
            got.append("second")

        async with a.subscribe(SUBJECT, first, queue="g"), b.subscribe(SUBJECT, second, queue="g"):
            for _ in range(100):
                await a.publish(SUBJECT, b"")
            await eventually(lambda: len(got) >= 100)
        assert len(got) == 100
        assert set(got) == {"first", "second"}


async def test_an_error_in_the_block_comes_out_as_itself(kind: str, tmp_path: Path) -> None:
    """Leaving a subscription by an exception gives that exception, not a group."""
    async with brokers_of_kind(kind, tmp_path) as brokers, brokers.connect("a") as broker:

        async def ignore(_message: Message) -> None:
            return

        with pytest.raises(LookupError):
            async with broker.subscribe(SUBJECT, ignore):
                raise LookupError


async def test_a_core_message_over_the_limit_is_refused(kind: str, tmp_path: Path) -> None:
    """Too large a message is an error here and does not cost the connection."""
    async with brokers_of_kind(kind, tmp_path) as brokers, brokers.connect("a") as broker:
        with pytest.raises(PayloadTooLargeError):
            await broker.publish(SUBJECT, b"x" * (broker.max_payload + 1))
        assert broker.connected


async def test_appending_twice_with_one_id_stores_once(kind: str, tmp_path: Path) -> None:
    """Plain streams deduplicate too."""
    async with brokers_of_kind(kind, tmp_path) as brokers, brokers.connect("a") as broker:
        stream, subject = broker.subjects.dead_stream(POOL), broker.subjects.dead_letter(POOL, "x")
        first = await broker.append(stream, subject, b"1", message_id="m")
        second = await broker.append(stream, subject, b"1", message_id="m")
        third = await broker.append(stream, subject, b"2", message_id="n")
        assert (first.sequence, second.sequence, third.sequence) == (1, 1, 2)
        assert second.duplicate


async def test_a_stream_is_read_message_by_message(kind: str, tmp_path: Path) -> None:
    """Only what matches, in order, with subject, headers and place; what was removed is skipped."""
    async with brokers_of_kind(kind, tmp_path) as brokers, brokers.connect("a") as broker:
        names = broker.subjects
        stream, pattern = names.dead_stream(POOL), names.dead_pool(POOL)
        assert await broker.next_stored(stream, pattern) is None
        for number, name in enumerate("xyx"):
            subject = names.dead_letter(POOL, name)
            await broker.append(stream, subject, f"{number}".encode(), message_id=f"m{number}", headers={"Tm-A": name})
        first = await broker.next_stored(stream, pattern)
        assert first is not None
        assert (first.subject, first.sequence, first.body) == (names.dead_letter(POOL, "x"), 1, b"0")
        assert first.headers["Tm-A"] == "x"
        assert await broker.delete_stored(stream, 2)
        assert not await broker.delete_stored(stream, 2)
        assert not await broker.delete_stored(stream, 99)
        following = await broker.next_stored(stream, pattern, after=1)
        assert following is not None
        assert following.sequence == 3
        assert await broker.next_stored(stream, names.dead_letter(POOL, "y")) is None
        assert await broker.next_stored(stream, pattern, after=3) is None


@pytest.mark.parametrize("size", [0, 1, 131_072, 131_073, 3_000_000])
async def test_a_payload_is_read_back_unchanged(kind: str, size: int, tmp_path: Path) -> None:
    """Sizes around the chunk size survive the round trip, streamed in and out."""
    content = bytes(n % 251 for n in range(size))

    async def pieces() -> AsyncIterator[bytes]:
        for start in range(0, size, 50_000):
            yield content[start : start + 50_000]

    async with brokers_of_kind(kind, tmp_path) as brokers, brokers.connect("a") as broker:
        store = broker.payloads(POOL)
        for ref in (await store.put("call/args", content, 60), await store.put("call/args", pieces(), 60)):
            assert ref.size == size
            assert b"".join([chunk async for chunk in store.open(ref)]) == content


async def test_a_deleted_payload_is_missing(kind: str, tmp_path: Path) -> None:
    """After delete, and in a bucket it is not in, reading says PAYLOAD_MISSING; deleting again is fine."""
    async with brokers_of_kind(kind, tmp_path) as brokers, brokers.connect("a") as broker:
        store = broker.payloads(POOL)
        ref = await store.put("x", b"content", 60)
        elsewhere = msgspec.structs.replace(ref, bucket="other")
        with pytest.raises(PayloadMissingError):
            await anext(store.open(elsewhere))
        await store.delete(ref)
        await store.delete(ref)
        with pytest.raises(PayloadMissingError):
            await anext(store.open(ref))


async def test_a_payload_expires(kind: str, tmp_path: Path) -> None:
    """The TTL holds for payloads."""
    async with brokers_of_kind(kind, tmp_path) as brokers, brokers.connect("a") as broker:
        store = broker.payloads(POOL)
        ref = await store.put("x", b"content", 1)

        async def gone() -> bool:
            try:
                await anext(store.open(ref))
            except PayloadMissingError:
                return True
            return False

        await eventually(gone)


@pytest.mark.parametrize(
    ("field", "value"), [("sha256", "0" * 64), ("size", 299_999), ("size", 300_001), ("size", 500_000)]
)
async def test_a_payload_that_differs_from_its_reference_is_corrupt(
    kind: str, field: str, value: object, tmp_path: Path
) -> None:
    """Another digest, too short, too long, chunks missing: always PAYLOAD_CORRUPT, never silently wrong."""
    async with brokers_of_kind(kind, tmp_path) as brokers, brokers.connect("a") as broker:
        store = broker.payloads(POOL)
        ref = msgspec.structs.replace(await store.put("x", b"z" * 300_000, 60), **{field: value})
        with pytest.raises(PayloadCorruptError):
            async for _chunk in store.open(ref):
                pass
