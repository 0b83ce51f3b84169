"""Catalog and heartbeats behave alike on JetStream and in memory."""

import asyncio
from pathlib import Path

import msgspec
import pytest
from tests.support.brokers import BROKER_KINDS, POOL, brokers_of_kind, eventually

from toolmesh_broker.catalog import CatalogPublisher, CatalogView
from toolmesh_broker.heartbeats import EXECUTORS_POOL, beating, read_heartbeats
from toolmesh_contracts.envelopes.catalog import CatalogEntry, Heartbeat
from toolmesh_contracts.wire import encode

pytestmark = pytest.mark.parametrize("kind", BROKER_KINDS)


def _entry(tool: str, worker: str = "w1", version: str = "v1", discovered_ms: int = 1) -> CatalogEntry:
    return CatalogEntry(
        tool=tool,
        pool=POOL,
        worker=worker,
        version=version,
        discovered_ms=discovered_ms,
        description=tool,
        parameters=msgspec.Raw(b"{}"),
    )


def _names(view: CatalogView) -> list[str]:
    return [tool.entry.tool for tool in view.tools()]


async def test_a_late_reader_knows_the_whole_catalog_at_once(kind: str, tmp_path: Path) -> None:
    """Opening a view returns with everything that is published, and follows what comes and goes."""
    async with (
        brokers_of_kind(kind, tmp_path) as brokers,
        brokers.connect("w1") as worker,
        brokers.connect("e") as reader,
    ):
        publisher = CatalogPublisher(worker)
        async with publisher.running():
            publisher.set([_entry(f"tool_{number}") for number in range(50)])
            async with asyncio.timeout(10):
                await publisher.published()
            async with CatalogView.open(reader) as view, asyncio.timeout(10):
                assert len(view.tools()) == 50
                publisher.set([_entry("tool_1"), _entry("new")])
                await view.wait_until(lambda now: _names(now) == ["new", "tool_1"])
        async with CatalogView.open(reader) as view:
            assert view.tools() == []


@pytest.mark.requirement("broker:removed")
async def test_entries_of_a_dead_worker_vanish(kind: str, tmp_path: Path) -> None:
    """Nobody refreshes them: gone after their TTL, and a watching view notices."""
    async with (
        brokers_of_kind(kind, tmp_path) as brokers,
        brokers.connect("w1") as worker,
        brokers.connect("e") as reader,
    ):
        bucket = worker.keyvalue(worker.subjects.catalog_bucket())
        entry = _entry("orphan")
        async with CatalogView.open(reader) as view, asyncio.timeout(10):
            await bucket.put(worker.subjects.catalog_key(POOL, "orphan", "w1"), encode(entry), 1)
            await view.wait_until(lambda now: _names(now) == ["orphan"])
            await view.wait_until(lambda now: not now.tools())


async def test_a_living_worker_outlives_the_ttl(kind: str, tmp_path: Path) -> None:
    """Refreshing keeps entries for longer than their TTL."""
    async with brokers_of_kind(kind, tmp_path) as brokers, brokers.connect("w1") as worker:
        publisher = CatalogPublisher(worker, ttl_s=1, interval_s=0.3)
        bucket = worker.keyvalue(worker.subjects.catalog_bucket())
        async with publisher.running():
            publisher.set([_entry("steady")])
            await publisher.published()
            await bucket.put("measure.x.y", b"", 1)
            await bucket.put("measure.x.z", b"", 2)

            async def measured() -> bool:
                return await bucket.get("measure.x.z") is None

            await eventually(measured)
            assert await bucket.get(worker.subjects.catalog_key(POOL, "steady", "w1")) is not None


async def test_the_newest_of_two_versions_is_shown_and_the_other_told(kind: str, tmp_path: Path) -> None:
    """Two versions at once: newest by discovery, its workers only, the other version named."""
    async with brokers_of_kind(kind, tmp_path) as brokers, brokers.connect("w1") as worker:
        publisher = CatalogPublisher(worker)
        async with publisher.running(), asyncio.timeout(10):
            publisher.set(
                [
                    _entry("t", "w1", "old", 1),
                    _entry("t", "w3", "new", 2),
                    _entry("t", "w2", "new", 2),
                ]
            )
            await publisher.published()
            async with CatalogView.open(worker) as view:
                tool = view.get(POOL, "t")
                assert tool is not None
                assert (tool.entry.version, tool.workers, tool.other_versions) == ("new", ("w2", "w3"), ("old",))
                assert view.get(POOL, "none") is None


async def test_an_entry_that_lies_about_its_place_is_ignored(kind: str, tmp_path: Path) -> None:
    """A key decides where an entry belongs; garbage and impostors do not show."""
    async with brokers_of_kind(kind, tmp_path) as brokers, brokers.connect("w1") as worker:
        bucket = worker.keyvalue(worker.subjects.catalog_bucket())
        await bucket.put(worker.subjects.catalog_key("other", "t", "w1"), encode(_entry("t")), 60)
        await bucket.put(worker.subjects.catalog_key(POOL, "broken", "w1"), b"{", 60)
        await bucket.put(worker.subjects.catalog_key(POOL, "fine", "w1"), encode(_entry("fine")), 60)
        async with CatalogView.open(worker) as view:
            assert _names(view) == ["fine"]


async def test_heartbeats_are_there_while_their_sender_is(kind: str, tmp_path: Path) -> None:
    """Workers and executors show up with their latest figures and go when they stop."""
    async with brokers_of_kind(kind, tmp_path) as brokers, brokers.connect("w1") as broker:
        running = 0

        def worker() -> Heartbeat:
            return Heartbeat(instance="w1", pool=POOL, kind="worker", started_ms=1, slots=4, running=running)

        def executor() -> Heartbeat:
            return Heartbeat(instance="e1", pool=EXECUTORS_POOL, kind="executor", started_ms=1)

        async with beating(broker, worker, interval_s=0.05), beating(broker, executor):
            running = 3

            async def seen() -> bool:
                beats = {beat.instance: beat for beat in await read_heartbeats(broker)}
                return set(beats) == {"w1", "e1"} and beats["w1"].running == 3

            await eventually(seen)
            bucket = broker.keyvalue(broker.subjects.heartbeat_bucket())
            await bucket.put(broker.subjects.heartbeat_key(POOL, "broken"), b"?", 60)
        assert await read_heartbeats(broker) == []
