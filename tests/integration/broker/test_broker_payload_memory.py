"""A 100 MB payload passes through in bounded memory."""

import asyncio
import json
import sys
from pathlib import Path

import pytest
from tests.support.brokers import NAMESPACE, POOL, provisioned_jetstream
from tests.support.nats_server import nats_server

_PROGRAM = """
import asyncio, json, resource, sys

from toolmesh_broker.jetstream.broker import connect
from toolmesh_broker.settings import ConnectionSettings

MIB = 1024 * 1024


async def content():
    for number in range(100):
        yield bytes([number]) * MIB


async def main():
    url, namespace, pool = sys.argv[1:]
    settings = ConnectionSettings(servers=(url,), namespace=namespace, identity="reader")
    async with connect(settings) as broker:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        store = broker.payloads(pool)
        ref = await store.put("large", content(), 60)
        size = 0
        async for chunk in store.open(ref):
            assert chunk[0] == size // MIB
            size += len(chunk)
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"size": size, "grown_kib": after - before}))


asyncio.run(main())
"""


@pytest.mark.requirement("call:sizes")
async def test_a_hundred_megabytes_go_in_and_out_with_little_memory(tmp_path: Path) -> None:
    """Written from a generator and read back in a process of its own, which grows by less than 40 MB."""
    async with nats_server(tmp_path) as server, provisioned_jetstream(server), asyncio.timeout(50):
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", _PROGRAM, server.url, NAMESPACE, POOL, stdout=asyncio.subprocess.PIPE
        )
        output, _ = await process.communicate()
        assert process.returncode == 0
        figures = json.loads(output)
    assert figures["size"] == 100 * 1024 * 1024
    assert figures["grown_kib"] < 40 * 1024
