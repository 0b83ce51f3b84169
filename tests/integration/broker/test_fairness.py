"""On a real server a worker's free slots go round: to every shard, to lanes by their weight, to whoever is urgent at once."""

from pathlib import Path

import pytest
from tests.load.fairness import due_share, measure

from toolmesh_contracts.names import Lane

_WEIGHED = 1200


@pytest.mark.timeout(120)
@pytest.mark.requirement("broker:fair")
async def test_full_tenant_keeps_neither_other_shards_nor_urgent_calls_waiting(tmp_path: Path) -> None:
    """Two rounds at most before a newcomer of another shard, and before an interactive call; lanes share by weight."""
    seen = await measure(tmp_path, queued=600, weighed=_WEIGHED)
    assert seen.problems() == []
    assert seen.shares.total() == _WEIGHED
    assert {lane for lane in Lane if seen.shares[lane] >= 0.9 * due_share(lane) * _WEIGHED} == set(Lane)
