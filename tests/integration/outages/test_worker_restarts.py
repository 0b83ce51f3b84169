"""A worker is started and ended again and again; `make worker-restarts` does it a hundred times."""

import pytest
from tests.load.worker_restarts import Ending, restart


@pytest.mark.timeout(150)
@pytest.mark.requirement("call:restarts")
async def test_restarts_of_a_worker_leave_nothing_behind() -> None:
    """Stopped and killed, idle, in a call and at its start: every call is answered, and one worker's belongings are left."""
    found = await restart(len(Ending))
    assert found.problems == []
    assert found.outcomes.total() == 2
