"""A queue that was told to rest is asked again when its rest is over, not at the next tick."""

import asyncio
from pathlib import Path

import pytest
from tests.support.brokers import POOL, outgoing, provisioned_jetstream
from tests.support.nats_server import nats_server

from toolmesh_broker.jetstream.pull_loop import pulling
from toolmesh_broker.jetstream.pull_timing import PullTiming
from toolmesh_contracts.names import Lane

pytestmark = pytest.mark.timeout(60)


async def test_a_rest_ends_by_itself(tmp_path: Path) -> None:
    """With ticks an hour apart the second of two calls comes all the same."""
    async with nats_server(tmp_path) as server, provisioned_jetstream(server) as broker, asyncio.timeout(30):
        calls = [outgoing(user="ada") for _ in range(2)]
        for call in calls:
            await broker.publish_invocation(call)
        stream = broker.subjects.invoke_stream(POOL)
        lane, shard = calls[0].subject.split(".")[-3:-1]
        consumer = broker.subjects.invoke_consumer(Lane(lane), int(shard))
        free = 1
        async with pulling(broker._connection, stream, [consumer], lambda: free, PullTiming(tick_s=3600)) as intake:
            first = await anext(intake)
            free = 0
            intake.rest(first, 0.3)
            await first.ack()
            free = 1
            intake.wake()
            second = await anext(intake)
            await second.ack()
        assert {first.sequence, second.sequence} == {1, 2}
