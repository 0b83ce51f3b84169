"""A watch of a bucket outlives whatever happens to its consumer, its stream and its server."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.support.brokers import POOL, eventually, jetstream_settings, provisioned_jetstream
from tests.support.nats_server import NatsServerProcess, nats_server

from toolmesh_broker.errors import BrokerClosedError, BrokerPermissionError
from toolmesh_broker.jetstream.api import api_request
from toolmesh_broker.jetstream.connection import Connection, open_connection
from toolmesh_broker.jetstream.keyvalue import JetStreamKeyValue
from toolmesh_broker.jetstream.layout import LayoutSettings
from toolmesh_broker.jetstream.provision import provision
from toolmesh_broker.jetstream.pull_timing import PullTiming
from toolmesh_broker.jetstream.watch import JetStreamWatch
from toolmesh_broker.ports import Deleted, Entry, InitialDone

FAST = PullTiming(expires_s=1, heartbeat_s=0.3, refused_pause_s=0.1, tick_s=0.1)


@dataclass(frozen=True)
class _Scene:
    server: NatsServerProcess
    connection: Connection
    bucket: JetStreamKeyValue
    watch: JetStreamWatch
    stream: str


@contextlib.asynccontextmanager
async def _watching(folder: Path) -> AsyncIterator[_Scene]:
    """A watch that has told one key."""
    async with (
        nats_server(folder) as server,
        provisioned_jetstream(server),
        open_connection(jetstream_settings(server, "w", ping_interval_s=0.5)) as connection,
        asyncio.timeout(40),
    ):
        name = connection.subjects.catalog_bucket()
        bucket = JetStreamKeyValue(connection, name, FAST)
        await bucket.put("p.first.w", b"1", 600)
        async with bucket.watch() as watch:
            assert isinstance(await anext(watch), Entry)
            assert await anext(watch) == InitialDone()
            yield _Scene(server, connection, bucket, watch, f"KV_{name}")


async def _idle(watch: JetStreamWatch, seconds: float) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(seconds):
            await anext(watch)


async def _consumers(scene: _Scene) -> list[str]:
    return list((await api_request(scene.connection, f"CONSUMER.NAMES.{scene.stream}"))["consumers"])


async def _is_pulled(scene: _Scene) -> bool:
    (consumer,) = await _consumers(scene)
    return bool((await api_request(scene.connection, f"CONSUMER.INFO.{scene.stream}.{consumer}"))["num_waiting"])


async def test_a_watch_outlives_the_expiry_of_its_pulls(tmp_path: Path) -> None:
    """Idle for longer than a pull lasts: the same consumer goes on and tells the next change."""
    async with _watching(tmp_path) as scene:
        before = await _consumers(scene)
        await _idle(scene.watch, 2.5)
        assert await _consumers(scene) == before
        revision = await scene.bucket.put("p.second.w", b"2", 600)
        assert await anext(scene.watch) == Entry("p.second.w", b"2", revision)


async def test_a_watch_outlives_the_loss_of_its_consumer(tmp_path: Path) -> None:
    """Deleted on the server: a new one is made, nothing is told twice, changes in between are told."""
    async with _watching(tmp_path) as scene:
        (consumer,) = await _consumers(scene)
        waiting = asyncio.create_task(anext(scene.watch))
        await eventually(lambda: _is_pulled(scene))
        await api_request(scene.connection, f"CONSUMER.DELETE.{scene.stream}.{consumer}")
        revision = await scene.bucket.put("p.second.w", b"2", 600)
        assert await waiting == Entry("p.second.w", b"2", revision)
        await _idle(scene.watch, 0.5)


async def test_a_watch_outlives_the_loss_of_its_bucket(tmp_path: Path) -> None:
    """The stream is deleted and made again: its keys are told as gone, then the new ones."""
    async with _watching(tmp_path) as scene:
        waiting = asyncio.create_task(anext(scene.watch))
        await eventually(lambda: _is_pulled(scene))
        await api_request(scene.connection, f"STREAM.DELETE.{scene.stream}")
        await asyncio.sleep(0.5)  # meanwhile there is no bucket to watch
        await provision(scene.connection, [POOL], LayoutSettings())
        assert await waiting == Deleted("p.first.w")
        revision = await scene.bucket.put("p.first.w", b"again", 600)
        assert await anext(scene.watch) == Entry("p.first.w", b"again", revision)


async def test_a_watch_notices_a_silent_server(tmp_path: Path) -> None:
    """The server hangs and wakes up again: the watch goes on by itself."""
    async with _watching(tmp_path) as scene:
        waiting = asyncio.create_task(anext(scene.watch))
        await scene.server.pause()
        await asyncio.sleep(2)  # longer than two heartbeats and two pings
        scene.server.resume()
        revision = await scene.bucket.put("p.second.w", b"2", 600)
        assert await waiting == Entry("p.second.w", b"2", revision)


async def test_a_watch_waits_out_a_long_absence(tmp_path: Path) -> None:
    """Killed for longer than one try lasts, then started: the watch is still there."""
    async with _watching(tmp_path) as scene:
        waiting = asyncio.create_task(anext(scene.watch))
        await scene.server.kill()
        await asyncio.sleep(1)
        assert not waiting.done()
        await scene.server.start()
        revision = await scene.bucket.put("p.second.w", b"2", 600)
        assert await waiting == Entry("p.second.w", b"2", revision)


async def test_a_watch_outlives_a_refusal_of_the_server(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """No consumer may be made for a while, with an error that is none of ours: said once, tried on, and then it goes on."""
    async with _watching(tmp_path) as scene:
        (consumer,) = await _consumers(scene)
        waiting = asyncio.create_task(anext(scene.watch))
        await eventually(lambda: _is_pulled(scene))
        config = (await api_request(scene.connection, f"STREAM.INFO.{scene.stream}"))["config"]
        other = await api_request(
            scene.connection,
            f"CONSUMER.CREATE.{scene.stream}.other",
            {"stream_name": scene.stream, "config": {"name": "other", "ack_policy": "none"}, "action": "create"},
        )
        await api_request(scene.connection, f"STREAM.UPDATE.{scene.stream}", {**config, "max_consumers": 1})
        await api_request(scene.connection, f"CONSUMER.DELETE.{scene.stream}.{consumer}")
        await eventually(lambda: "refused" in caplog.text)
        await asyncio.sleep(0.5)  # several more refusals
        assert not waiting.done()
        await api_request(scene.connection, f"CONSUMER.DELETE.{scene.stream}.{other['name']}")
        revision = await scene.bucket.put("p.second.w", b"2", 600)
        assert await waiting == Entry("p.second.w", b"2", revision)
    assert len([record for record in caplog.records if "refused" in record.getMessage()]) == 1


async def test_a_watch_waits_for_the_connection_without_an_end(tmp_path: Path) -> None:
    """However long the outage is, no limit of its own ends the watch."""
    async with _watching(tmp_path) as scene:
        limits: list[float | None] = []
        wait = scene.connection.until_connected

        async def noted(timeout_s: float | None) -> None:
            limits.append(timeout_s)
            await wait(timeout_s)

        waiting = asyncio.create_task(anext(scene.watch))
        await scene.server.kill()
        await eventually(lambda: not scene.connection.connected)
        scene.connection.until_connected = noted  # type: ignore[method-assign]
        await eventually(lambda: None in limits, within_s=25)
        await scene.server.start()
        revision = await scene.bucket.put("p.second.w", b"2", 600)
        assert await waiting == Entry("p.second.w", b"2", revision)


async def test_a_watch_ends_with_its_connection(tmp_path: Path) -> None:
    """Closed on our side: whoever still iterates gets a typed error, not an endless wait."""
    async with _watching(tmp_path) as scene:
        await scene.connection.close()
        scene.watch._invalidate()
        with pytest.raises(BrokerClosedError):
            await anext(scene.watch)


async def test_a_watch_that_is_not_allowed_says_so(tmp_path: Path) -> None:
    """Permissions for consumers are cut by key: watching beyond them is a typed error at once."""
    users = (
        "authorization { users: [ { user: admin, password: p }, { user: u, password: p, permissions: { "
        'publish: ["$JS.API.INFO"], subscribe: ["_INBOX.>"] } } ] }'
    )
    async with (
        nats_server(tmp_path, users) as server,
        open_connection(jetstream_settings(server, "w", user="u", password="p")) as connection,
        asyncio.timeout(10),
    ):
        with pytest.raises(BrokerPermissionError):
            await JetStreamKeyValue(connection, "SOME").keys()
