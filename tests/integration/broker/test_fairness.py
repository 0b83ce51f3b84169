"""On a real server a worker's free slots go round: to every shard, to lanes by their weight, to whoever is urgent at once."""

import asyncio
from pathlib import Path

import pytest
from tests.load.fairness import due_share, measure
from tests.support.brokers import POOL, brokers_of_kind, outgoing

from toolmesh_broker.errors import QueueFullError
from toolmesh_contracts.names import Lane, shard_of, tenant_token

_WEIGHED = 1200


@pytest.mark.timeout(120)
@pytest.mark.requirement("broker:fair")
async def test_full_tenant_keeps_neither_other_shards_nor_urgent_calls_waiting(tmp_path: Path) -> None:
    """Two rounds at most before a newcomer of another shard, and before an interactive call; lanes share by weight."""
    seen = await measure(tmp_path, queued=600, weighed=_WEIGHED)
    assert seen.problems() == []
    assert seen.shares.total() == _WEIGHED
    assert {lane for lane in Lane if seen.shares[lane] >= 0.9 * due_share(lane) * _WEIGHED} == set(Lane)


async def test_a_full_tenant_delays_others_of_its_shard_by_no_more_than_its_cap(tmp_path: Path) -> None:
    """Its call over the cap is refused; a neighbour's call is behind those that waited when it came, and no later one."""
    noisy, neighbour = users_of_one_shard()
    cap = 40
    async with (
        brokers_of_kind("jetstream", tmp_path, max_queued_per_tenant=cap, ack_wait_s=30) as brokers,
        brokers.connect("client") as client,
        brokers.connect("w") as worker,
        asyncio.timeout(50),
    ):
        for _ in range(cap):
            await client.publish_invocation(outgoing(user=noisy))
        with pytest.raises(QueueFullError):
            await client.publish_invocation(outgoing(user=noisy))
        late = outgoing(user=neighbour)
        await client.publish_invocation(late)
        before = 0
        async with worker.consume(POOL, lambda: 1) as intake:
            async for delivery in intake:
                await delivery.ack()
                if delivery.subject == late.subject:
                    break
                before += 1
                await client.publish_invocation(outgoing(user=noisy))  # it keeps its queue full
    assert before == cap


def users_of_one_shard() -> tuple[str, str]:
    """Two users whose calls wait in one shard."""
    first = "noisy"
    shard = shard_of(tenant_token("agent", first))
    return first, next(
        name for name in (f"user-{n}" for n in range(100)) if shard_of(tenant_token("agent", name)) == shard
    )
