"""Provisioning makes what is missing, accepts what is merely different, and refuses what would break a promise."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.brokers import NAMESPACE, POOL, jetstream_settings
from tests.support.nats_server import nats_server

from toolmesh_broker.embedded import EmbeddedSettings
from toolmesh_broker.errors import StreamMismatchError
from toolmesh_broker.jetstream.api import ApiError, api_request
from toolmesh_broker.jetstream.connection import Connection, open_connection
from toolmesh_broker.jetstream.layout import SHARDS_METADATA, LayoutSettings, StreamLayout, stream_layouts
from toolmesh_broker.jetstream.provision import provision
from toolmesh_contracts.subjects import Subjects

SUBJECTS = Subjects(NAMESPACE)
LAYOUT = LayoutSettings()


@contextlib.asynccontextmanager
async def _connection(folder: Path) -> AsyncIterator[Connection]:
    async with (
        nats_server(folder) as server,
        open_connection(jetstream_settings(server, "provisioner")) as connection,
        asyncio.timeout(30),
    ):
        yield connection


def _layout(name: str) -> StreamLayout:
    (layout,) = [layout for layout in stream_layouts(SUBJECTS, [POOL], LAYOUT) if layout.name == name]
    return layout


async def _state(connection: Connection) -> dict[str, Any]:
    """All configurations on the server."""
    streams = (await api_request(connection, "STREAM.LIST"))["streams"]
    found: dict[str, Any] = {stream["config"]["name"]: stream["config"] for stream in streams}
    for name in list(found):
        consumers = (await api_request(connection, f"CONSUMER.LIST.{name}"))["consumers"]
        found |= {f"{name}.{consumer['name']}": consumer["config"] for consumer in consumers}
    return found


@pytest.mark.requirement("broker:provisioned")
async def test_everything_of_the_wire_table_is_made_and_a_second_run_changes_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Streams, 24 consumers, buckets; idempotent and without warnings."""
    async with _connection(tmp_path) as connection:
        await provision(connection, [POOL, "other_pool"], LAYOUT)
        first = await _state(connection)
        await provision(connection, [POOL, "other_pool"], LAYOUT)
        assert await _state(connection) == first
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]
    queue = SUBJECTS.invoke_stream(POOL)
    assert len([name for name in first if name.startswith(f"{queue}.")]) == 24
    assert first[queue]["retention"] == "workqueue"
    assert first[queue]["metadata"][SHARDS_METADATA] == "8"
    assert first[f"{queue}.interactive-7"]["ack_wait"] == 6_000_000_000
    assert first[f"{queue}.interactive-7"]["max_deliver"] == -1
    assert first[f"KV_{SUBJECTS.heartbeat_bucket()}"]["storage"] == "memory"
    assert {name for name in first if "." not in name} == {
        SUBJECTS.invoke_stream(POOL),
        SUBJECTS.invoke_stream("other_pool"),
        f"OBJ_{SUBJECTS.payload_bucket(POOL)}",
        f"OBJ_{SUBJECTS.payload_bucket('other_pool')}",
        f"KV_{SUBJECTS.ledger_bucket()}",
        f"KV_{SUBJECTS.result_bucket()}",
        f"KV_{SUBJECTS.catalog_bucket()}",
        f"KV_{SUBJECTS.heartbeat_bucket()}",
        SUBJECTS.task_stream(),
        SUBJECTS.event_stream(),
        SUBJECTS.dead_stream(POOL),
        SUBJECTS.dead_stream("other_pool"),
    }
    embedded = EmbeddedSettings(data_folder=tmp_path, namespace=NAMESPACE, pools=())
    bounded = {name: config["max_bytes"] for name, config in first.items() if "." not in name}
    assert {name for name, limit in bounded.items() if limit <= 0} == {
        SUBJECTS.task_stream(),  # the server allows no limit that refuses beside schedules
        f"KV_{SUBJECTS.heartbeat_bucket()}",  # in memory, which the server bounds
    }
    assert sum(limit for limit in bounded.values() if limit > 0) < embedded.max_store_bytes


async def test_two_provisioners_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    """Started together, both succeed."""
    async with _connection(tmp_path) as connection:
        await asyncio.gather(*(provision(connection, [POOL], LAYOUT) for _ in range(3)))


@pytest.mark.parametrize(
    ("stream", "change", "named"),
    [
        (SUBJECTS.invoke_stream(POOL), {"retention": "limits"}, "retention is 'limits', expected 'workqueue'"),
        (SUBJECTS.invoke_stream(POOL), {"allow_msg_ttl": False}, "allow_msg_ttl"),
        (SUBJECTS.invoke_stream(POOL), {"metadata": {SHARDS_METADATA: "16"}}, "is '16', expected '8'"),
        (SUBJECTS.invoke_stream(POOL), {"metadata": {}}, "toolmesh.shards"),
        (SUBJECTS.invoke_stream(POOL), {"subjects": ["elsewhere.>"]}, "subjects"),
        (SUBJECTS.invoke_stream(POOL), {"discard": "old", "discard_new_per_subject": False}, "discard"),
        (SUBJECTS.dead_stream(POOL), {"no_ack": True}, "no_ack"),
        (SUBJECTS.task_stream(), {"max_msgs": 10}, "max_msgs"),
        (f"KV_{SUBJECTS.ledger_bucket()}", {"max_msgs_per_subject": 5}, "max_msgs_per_subject"),
        (f"KV_{SUBJECTS.ledger_bucket()}", {"allow_direct": False}, "allow_direct"),
        (f"KV_{SUBJECTS.catalog_bucket()}", {"subject_delete_marker_ttl": 0}, "subject_delete_marker_ttl"),
        (f"OBJ_{SUBJECTS.payload_bucket(POOL)}", {"discard": "old"}, "discard"),
    ],
)
@pytest.mark.requirement("broker:provisioned")
async def test_a_stream_that_breaks_a_promise_is_refused_and_left_alone(
    stream: str, change: dict[str, Any], named: str, tmp_path: Path
) -> None:
    """The error names stream and field; the server's configuration is what it was."""
    async with _connection(tmp_path) as connection:
        config = {key: value for key, value in {**_layout(stream).config, **change}.items() if value is not False}
        if "max_msgs" in change:
            config["discard"] = "old"
        await api_request(connection, f"STREAM.CREATE.{stream}", config)
        before = (await api_request(connection, f"STREAM.INFO.{stream}"))["config"]
        with pytest.raises(StreamMismatchError, match=named) as caught:
            await provision(connection, [POOL], LAYOUT)
        assert stream in caught.value.message
        assert caught.value.code == "BROKER_REFUSED"
        assert (await api_request(connection, f"STREAM.INFO.{stream}"))["config"] == before


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"filter_subject": SUBJECTS.invoke_shard(POOL, "bulk", 3)}, "filter_subject"),  # type: ignore[arg-type]
        ({"max_deliver": 5}, "max_deliver is 5, expected -1"),
    ],
)
async def test_a_consumer_that_breaks_a_promise_is_refused(change: dict[str, Any], named: str, tmp_path: Path) -> None:
    """A consumer that gives up after some deliveries, or serves another shard, would lose calls."""
    async with _connection(tmp_path) as connection:
        queue = _layout(SUBJECTS.invoke_stream(POOL))
        await api_request(connection, f"STREAM.CREATE.{queue.name}", queue.config)
        consumer = queue.consumers[0]
        config = {**consumer.config, **change}
        place = f"{queue.name}.{consumer.name}"
        await api_request(
            connection,
            f"CONSUMER.CREATE.{place}.{config['filter_subject']}",
            {"stream_name": queue.name, "config": config, "action": "create"},
        )
        with pytest.raises(StreamMismatchError, match=named) as caught:
            await provision(connection, [POOL], LAYOUT)
        assert consumer.name in caught.value.message


async def test_a_harmless_difference_is_accepted_with_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Another ack_wait or limit is the operator's choice: kept, and named once."""
    async with _connection(tmp_path) as connection:
        await provision(connection, [POOL], LayoutSettings(max_queued_per_tenant=5, event_days=1))
        before = await _state(connection)
        caplog.clear()
        await provision(connection, [POOL], LAYOUT)
        assert await _state(connection) == before
    warnings = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(warnings) == 2
    assert "max_age" in warnings[0]
    assert "max_msgs_per_subject is 5, expected 10000" in warnings[1]


async def test_streams_with_fewer_replicas_than_asked_for_are_told_and_left_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Whether and when all of its contents are copied to other servers is the operator's to say."""
    async with _connection(tmp_path) as connection:
        await provision(connection, [POOL], LAYOUT)
        before = await _state(connection)
        caplog.clear()
        await provision(connection, [POOL], LayoutSettings(replicas=3))
        assert await _state(connection) == before
    assert all("num_replicas is 1, expected 3" in record.getMessage() for record in caplog.records)
    assert len(caplog.records) == 9


async def test_a_refused_create_is_told(tmp_path: Path) -> None:
    """What the server does not accept comes out as an error with its words."""
    async with _connection(tmp_path) as connection:
        with pytest.raises(ApiError) as caught:
            await provision(connection, [POOL], LayoutSettings(replicas=3))
        assert "replicas" in caught.value.message
        assert caught.value.status == 500
