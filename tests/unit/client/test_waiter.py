"""What one call has heard: the first result stays, statuses end with it, and memory is bounded."""

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from toolmesh_client.waiter import Waiter
from toolmesh_contracts.envelopes.reply import Outcome, Result, Status, StatusState


def a_status(seq: int) -> Status:
    return Status(invocation="call-1", attempt=1, seq=seq, state=StatusState.PROGRESS, worker="w", at_ms=0)


def a_result(message: str = "") -> Result:
    return Result(invocation="call-1", attempt=1, tool="t", outcome=Outcome.OK, message=message)


@given(st.lists(st.sampled_from(["status", "result"]), max_size=20))
def test_the_first_result_stays_and_nothing_follows_it(arrivals: list[str]) -> None:
    """Later results change nothing, and later statuses are not shown."""
    waiter = Waiter(status_capacity=100)
    shown: list[int] = []
    first: str | None = None
    for number, kind in enumerate(arrivals):
        if kind == "status":
            waiter.take_status(a_status(number))
            shown += [number] if first is None else []
        else:
            assert waiter.settle(a_result(str(number))) == (first is None)
            first = first or str(number)
    waiter.settle(a_result("last"))

    async def read() -> list[int]:
        return [status.seq async for status in waiter.statuses()]

    assert asyncio.run(read()) == shown
    assert waiter.result is not None
    assert waiter.result.message == (first or "last")


async def test_a_slow_reader_gets_the_newest_statuses() -> None:
    """The queue of statuses is bounded; the oldest are dropped."""
    waiter = Waiter(status_capacity=3)
    for seq in range(10):
        waiter.take_status(a_status(seq))
    waiter.settle(a_result())
    assert [status.seq async for status in waiter.statuses()] == [7, 8, 9]


async def test_a_reader_that_waits_sees_statuses_as_they_come() -> None:
    """Statuses are not held back until the end."""
    waiter = Waiter(status_capacity=3)
    statuses = waiter.statuses()
    first = asyncio.ensure_future(anext(statuses))
    await asyncio.sleep(0)
    waiter.take_status(a_status(5))
    assert (await asyncio.wait_for(first, 5)).seq == 5
    end = asyncio.ensure_future(anext(statuses, None))
    await asyncio.sleep(0)
    waiter.settle(a_result())
    assert await asyncio.wait_for(end, 5) is None
