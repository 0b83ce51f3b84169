"""A payload of which one chunk is not there yet, as seen through a server of a cluster that lags behind."""

import asyncio
from pathlib import Path

import pytest
from tests.support.brokers import POOL, jetstream_settings, provisioned_jetstream
from tests.support.nats_server import nats_server

from toolmesh_broker.errors import PayloadCorruptError
from toolmesh_broker.jetstream.api import api_request
from toolmesh_broker.jetstream.connection import open_connection
from toolmesh_broker.jetstream.payload_store import CHUNK_BYTES
from toolmesh_broker.task_scope import task_scope

CONTENT = b"a" * CHUNK_BYTES + b"b" * CHUNK_BYTES + b"c"


@pytest.mark.parametrize("index", [0, 1, 2])
async def test_a_chunk_that_comes_a_moment_later_is_waited_for(tmp_path: Path, index: int) -> None:
    """What a writer was told is stored is not corrupt because one server has not seen it yet."""
    async with nats_server(tmp_path) as server, provisioned_jetstream(server) as broker, asyncio.timeout(30):
        store = broker.payloads(POOL)
        ref = await store.put("x", CONTENT, 600)
        bucket = broker.subjects.payload_bucket(POOL)
        subject = f"$O.{bucket}.C.{ref.object}.{index}"
        async with open_connection(jetstream_settings(server, "other")) as other, task_scope() as group:
            await api_request(other, f"STREAM.PURGE.OBJ_{bucket}", {"filter": subject})

            async def arrives() -> None:
                await asyncio.sleep(0.5)
                await other.ask(subject, CONTENT[index * CHUNK_BYTES : (index + 1) * CHUNK_BYTES], 5)

            group.create_task(arrives())
            assert b"".join([chunk async for chunk in store.open(ref)]) == CONTENT


async def test_a_chunk_that_never_comes_makes_it_corrupt(tmp_path: Path) -> None:
    """After a bounded wait."""
    async with nats_server(tmp_path) as server, provisioned_jetstream(server) as broker, asyncio.timeout(30):
        store = broker.payloads(POOL)
        ref = await store.put("x", CONTENT, 600)
        bucket = broker.subjects.payload_bucket(POOL)
        async with open_connection(jetstream_settings(server, "other")) as other:
            await api_request(other, f"STREAM.PURGE.OBJ_{bucket}", {"filter": f"$O.{bucket}.C.{ref.object}.1"})
        with pytest.raises(PayloadCorruptError, match="chunk 1 is missing"):
            _ = [chunk async for chunk in store.open(ref)]
