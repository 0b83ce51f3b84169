"""Key-value buckets behave alike on JetStream and in memory."""

import asyncio
from pathlib import Path

import pytest
from tests.support.brokers import BROKER_KINDS, brokers_of_kind, eventually

from toolmesh_broker.errors import KeyExistsError, RevisionConflictError
from toolmesh_broker.ports import Broker, Change, Deleted, Entry, InitialDone, KeyValue, Watch

pytestmark = pytest.mark.parametrize("kind", BROKER_KINDS)


def _ledger(broker: Broker) -> KeyValue:
    return broker.keyvalue(broker.subjects.ledger_bucket())


async def _told(watch: Watch, count: int) -> list[Change]:
    async with asyncio.timeout(10):
        return [await anext(watch) for _ in range(count)]


async def test_values_are_read_back_with_their_revision(kind: str, tmp_path: Path) -> None:
    """Create, put and get agree on value and revision; an unknown key has none."""
    async with brokers_of_kind(kind, tmp_path) as brokers, brokers.connect("a") as broker:
        bucket = _ledger(broker)
        assert await bucket.get("p.none") is None
        first = await bucket.create("p.x", b"one", 60)
        assert await bucket.get("p.x") == Entry("p.x", b"one", first)
        second = await bucket.put("p.x", b"two", 60)
        assert second > first
        assert await bucket.get("p.x") == Entry("p.x", b"two", second)


async def test_of_many_creates_exactly_one_wins(kind: str, tmp_path: Path) -> None:
    """Compare-and-set at creation: one winner among ten, the others get KeyExistsError."""
    async with brokers_of_kind(kind, tmp_path) as brokers, brokers.connect("a") as broker:
        bucket = _ledger(broker)
        outcomes = await asyncio.gather(
            *(bucket.create("p.race", str(n).encode(), 60) for n in range(10)), return_exceptions=True
        )
        winners = [n for n, outcome in enumerate(outcomes) if isinstance(outcome, int)]
        assert len(winners) == 1
        assert all(isinstance(outcome, (int, KeyExistsError)) for outcome in outcomes)
        entry = await bucket.get("p.race")
        assert entry is not None
        assert entry.value == str(winners[0]).encode()


async def test_an_update_needs_the_current_revision(kind: str, tmp_path: Path) -> None:
    """Compare-and-set on update: a stale revision is refused and changes nothing."""
    async with brokers_of_kind(kind, tmp_path) as brokers, brokers.connect("a") as broker:
        bucket = _ledger(broker)
        old = await bucket.create("p.x", b"one", 60)
        new = await bucket.update("p.x", b"two", old, 60)
        with pytest.raises(RevisionConflictError):
            await bucket.update("p.x", b"three", old, 60)
        assert await bucket.get("p.x") == Entry("p.x", b"two", new)


async def test_a_deleted_key_can_be_created_again(kind: str, tmp_path: Path) -> None:
    """Deleting frees the key, if asked only at the given revision."""
    async with brokers_of_kind(kind, tmp_path) as brokers, brokers.connect("a") as broker:
        bucket = _ledger(broker)
        revision = await bucket.create("p.x", b"one", 60)
        with pytest.raises(RevisionConflictError):
            await bucket.delete("p.x", revision + 1)
        await bucket.delete("p.x", revision)
        assert await bucket.get("p.x") is None
        assert await bucket.create("p.x", b"again", 60) > revision


@pytest.mark.parametrize("write", ["create", "update", "put"])
async def test_every_kind_of_write_expires(kind: str, write: str, tmp_path: Path) -> None:
    """The TTL holds on create, update and put; an expired key can be created again."""
    async with brokers_of_kind(kind, tmp_path) as brokers, brokers.connect("a") as broker:
        bucket = _ledger(broker)
        revision = await bucket.create("p.x", b"one", 1 if write == "create" else 60)
        if write == "update":
            await bucket.update("p.x", b"two", revision, 0.2)
        if write == "put":
            await bucket.put("p.x", b"two", 1)

        async def gone() -> bool:
            return await bucket.get("p.x") is None

        assert not await gone()
        await eventually(gone)
        await bucket.create("p.x", b"again", 60)


async def test_an_update_replaces_the_ttl(kind: str, tmp_path: Path) -> None:
    """A renewed key outlives the TTL of its first write."""
    async with brokers_of_kind(kind, tmp_path) as brokers, brokers.connect("a") as broker:
        bucket = _ledger(broker)
        revision = await bucket.create("p.x", b"one", 1)
        await bucket.update("p.x", b"two", revision, 60)
        await bucket.create("p.y", b"measure", 1)

        async def measured() -> bool:
            return await bucket.get("p.y") is None

        await eventually(measured)
        assert await bucket.get("p.x") is not None


async def test_keys_lists_what_matches_and_has_a_value(kind: str, tmp_path: Path) -> None:
    """Patterns select; deleted keys are not listed; an empty bucket gives an empty list."""
    async with brokers_of_kind(kind, tmp_path) as brokers, brokers.connect("a") as broker:
        bucket = _ledger(broker)
        assert await bucket.keys() == []
        for key in ("p.a", "p.b", "q.a", "p.gone"):
            await bucket.create(key, b"x", 60)
        await bucket.delete("p.gone")
        assert sorted(await bucket.keys()) == ["p.a", "p.b", "q.a"]
        assert sorted(await bucket.keys("p.*")) == ["p.a", "p.b"]


async def test_a_watch_tells_what_is_there_then_every_change(kind: str, tmp_path: Path) -> None:
    """Current values, InitialDone, then writes, deletes and expiries of other connections."""
    async with (
        brokers_of_kind(kind, tmp_path) as brokers,
        brokers.connect("a") as reader,
        brokers.connect("b") as writer,
    ):
        bucket = _ledger(writer)
        first = await bucket.create("p.a", b"1", 60)
        await bucket.create("q.other", b"1", 60)
        async with _ledger(reader).watch("p.*") as watch:
            assert await _told(watch, 2) == [Entry("p.a", b"1", first), InitialDone()]
            second = await bucket.update("p.a", b"2", first, 60)
            await bucket.create("q.more", b"1", 60)
            brief = await bucket.create("p.brief", b"3", 1)
            await bucket.delete("p.a")
            changes = await _told(watch, 4)
            assert changes[:2] == [Entry("p.a", b"2", second), Entry("p.brief", b"3", brief)]
            assert changes[2:] == [Deleted("p.a"), Deleted("p.brief")]


async def test_a_watch_of_an_empty_bucket_is_done_at_once(kind: str, tmp_path: Path) -> None:
    """No values: InitialDone comes without waiting for a first one."""
    async with (
        brokers_of_kind(kind, tmp_path) as brokers,
        brokers.connect("a") as broker,
        _ledger(broker).watch() as watch,
    ):
        assert await _told(watch, 1) == [InitialDone()]


async def test_a_watch_survives_a_cancelled_wait(kind: str, tmp_path: Path) -> None:
    """A waiter that gives up loses nothing that comes later."""
    async with brokers_of_kind(kind, tmp_path) as brokers, brokers.connect("a") as broker:
        bucket = _ledger(broker)
        async with bucket.watch() as watch:
            assert await _told(watch, 1) == [InitialDone()]
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.1):
                    await anext(watch)
            revision = await bucket.create("p.a", b"1", 60)
            assert await _told(watch, 1) == [Entry("p.a", b"1", revision)]


async def test_a_watch_tells_more_than_one_batch_of_values(kind: str, tmp_path: Path) -> None:
    """Six hundred keys arrive complete, more than a single pull brings."""
    async with brokers_of_kind(kind, tmp_path) as brokers, brokers.connect("a") as broker:
        bucket = _ledger(broker)
        await asyncio.gather(*(bucket.put(f"p.{n}", b"x", 60) for n in range(600)))
        assert len(await bucket.keys()) == 600
