"""What one pool stores is bounded, and its bound takes nothing away from another pool."""

import asyncio
from pathlib import Path

import pytest
from tests.support.brokers import POOL, jetstream_settings, outgoing
from tests.support.nats_server import nats_server

from toolmesh_broker.errors import QueueFullError
from toolmesh_broker.jetstream.api import api_request
from toolmesh_broker.jetstream.broker import connect
from toolmesh_broker.jetstream.layout import LayoutSettings

OTHER = "other_pool"
_KIB = 1024
SMALL = LayoutSettings(queue_bytes=64 * _KIB, payload_bytes=512 * _KIB, dead_letter_bytes=64 * _KIB)


async def test_a_pool_that_is_full_is_told_so_and_another_is_not(tmp_path: Path) -> None:
    """Payloads and calls over the pool's bytes are refused with one typed error, however many chunks fail at once."""
    async with (
        nats_server(tmp_path) as server,
        connect(jetstream_settings(server, "w")) as broker,
        broker.provisioned([POOL, OTHER], SMALL),
        asyncio.timeout(40),
    ):
        for _ in range(10):
            with pytest.raises(QueueFullError, match="has no room for large") as full:
                await broker.payloads(POOL).put("large", b"x" * 4096 * _KIB, 60)
            assert "send less" in full.value.hint
        # What was written of it is gone, and others have the room at once.
        for number in range(2):
            await broker.payloads(POOL).put(f"small-{number}", b"x" * 200 * _KIB, 60)
        ref = await broker.payloads(OTHER).put("fits", b"y" * 300 * _KIB, 60)
        assert b"".join([chunk async for chunk in broker.payloads(OTHER).open(ref)]) == b"y" * 300 * _KIB

        calls = [broker.publish_invocation(outgoing(b"z" * 10_000, user=f"user{number}")) for number in range(10)]
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        assert 4 <= sum(isinstance(outcome, QueueFullError) for outcome in outcomes) <= 6


async def test_dead_letters_of_one_pool_push_out_none_of_another(tmp_path: Path) -> None:
    """A pool whose workers bury without an end keeps its latest letters; the other pool's stay."""
    async with (
        nats_server(tmp_path) as server,
        connect(jetstream_settings(server, "w")) as broker,
        broker.provisioned([POOL, OTHER], SMALL),
        asyncio.timeout(40),
    ):
        subjects = broker.subjects

        async def bury(pool: str, name: str) -> None:
            await broker.append(
                subjects.dead_stream(pool), subjects.dead_letter(pool, name), b"d" * 10_000, message_id=name
            )

        await bury(OTHER, "kept")
        for number in range(30):
            await bury(POOL, f"letter-{number}")

        async def stored(pool: str) -> dict[str, int]:
            stream = subjects.dead_stream(pool)
            state: dict[str, int] = (await api_request(broker._connection, f"STREAM.INFO.{stream}"))["state"]
            return state

        full = await stored(POOL)
        assert full["last_seq"] == 30
        assert 0 < full["messages"] < 10
        assert (await stored(OTHER))["messages"] == 1
