"""The inspection tells everything that is not as it should be, and leaves it as it is."""

import asyncio
from pathlib import Path

from tests.support.brokers import NAMESPACE, POOL, jetstream_settings
from tests.support.nats_server import nats_server

from toolmesh_broker.jetstream.api import api_request
from toolmesh_broker.jetstream.broker import connect
from toolmesh_broker.jetstream.connection import open_connection
from toolmesh_broker.jetstream.inspection import inspect
from toolmesh_broker.jetstream.layout import LayoutSettings
from toolmesh_broker.jetstream.provision import provision
from toolmesh_contracts.subjects import Subjects

SUBJECTS = Subjects(NAMESPACE)


async def test_inspection_tells_what_is_missing_broken_different_and_dead(tmp_path: Path) -> None:
    """A fresh server lacks all; then nothing; then a lost consumer, a changed stream and a dead letter are named."""
    async with nats_server(tmp_path) as server, asyncio.timeout(40):
        settings = jetstream_settings(server, "provisioner")
        bare = await inspect(settings, [POOL])
        assert len(bare.missing) == bare.streams == 9
        assert (bare.dead_letters, bare.skew_s) == (None, None)

        async with open_connection(settings) as connection:
            await provision(connection, [POOL], LayoutSettings())
            whole = await inspect(settings, [POOL])
            assert (whole.missing, whole.broken, whole.different, whole.dead_letters) == ((), (), (), 0)
            assert whole.api_level >= 2
            assert whole.skew_s is not None
            assert abs(whole.skew_s) < 2

            queue, events = SUBJECTS.invoke_stream(POOL), SUBJECTS.event_stream()
            await api_request(connection, f"CONSUMER.DELETE.{queue}.bulk-3")
            config = (await api_request(connection, f"STREAM.INFO.{events}"))["config"]
            await api_request(connection, f"STREAM.UPDATE.{events}", {**config, "max_bytes": 4096})
            dead = SUBJECTS.dead_stream(POOL)
            config = (await api_request(connection, f"STREAM.INFO.{dead}"))["config"]
            await api_request(connection, f"STREAM.UPDATE.{dead}", {**config, "subjects": ["elsewhere.>"]})
        async with connect(settings) as broker:
            await broker.append(dead, "elsewhere.x", b"{}", message_id="1")
        found = await inspect(settings, [POOL])
    assert found.missing == (f"consumer {queue}.bulk-3",)
    assert len(found.different) == 1
    assert "max_bytes" in found.different[0]
    assert len(found.broken) == 1
    assert dead in found.broken[0]
    assert found.dead_letters == 1
