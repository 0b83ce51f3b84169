"""The catalog when the broker is not ready for it: a worker says why, and leaves nothing behind."""

import asyncio
import logging
from pathlib import Path

import msgspec
import pytest
from tests.support.brokers import POOL, eventually, jetstream_settings, provisioned_jetstream
from tests.support.nats_server import nats_server

from toolmesh_broker.catalog import CatalogPublisher
from toolmesh_broker.errors import BrokerTimeoutError
from toolmesh_broker.jetstream.broker import connect
from toolmesh_contracts.envelopes.catalog import CatalogEntry

ENTRY = CatalogEntry(
    tool="t", pool=POOL, worker="w1", version="v1", discovered_ms=1, description="", parameters=msgspec.Raw(b"{}")
)


async def test_a_broker_without_streams_is_told_and_not_waited_for_without_an_end(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """One warning with the reason, then an error that names the subject and what to do."""
    async with nats_server(tmp_path) as server, connect(jetstream_settings(server, "w")) as worker, asyncio.timeout(60):
        publisher = CatalogPublisher(worker)
        async with publisher.running():
            publisher.set([ENTRY])
            with pytest.raises(BrokerTimeoutError, match=r"nobody answers on \$KV\.TM__contract__CATALOG") as caught:
                await publisher.published(timeout_s=17)  # one try lasts 15 s
    assert "toolmesh up --broker" in caught.value.hint
    warnings = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(warnings) == 1
    assert warnings[0].startswith("catalog not written, trying on: nobody answers on $KV.")


async def test_a_worker_that_stops_while_it_announces_a_tool_leaves_none_behind(tmp_path: Path) -> None:
    """The entry was sent and not yet answered when the worker ended: it is taken away all the same."""
    async with (
        nats_server(tmp_path) as server,
        provisioned_jetstream(server) as admin,
        connect(jetstream_settings(server, "w")) as worker,
        asyncio.timeout(40),
    ):
        publisher = CatalogPublisher(worker)
        async with publisher.running():
            await server.pause()
            publisher.set([ENTRY])
            await eventually(lambda: worker._connection._requests.waiting == 1)
        server.resume()
        # The server works through one connection in order: its answer proves that it has seen what came before.
        await worker.request("$JS.API.INFO", b"", 10)
        bucket = admin.keyvalue(admin.subjects.catalog_bucket())
        assert await bucket.get(admin.subjects.catalog_key(POOL, "t", "w1")) is None
