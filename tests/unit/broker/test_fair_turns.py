"""Lanes share by their weights, shards take turns, and nobody waits for ever."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolmesh_broker.fair_turns import LANE_WEIGHTS, PATIENCE_S, FairTurns
from toolmesh_contracts.names import SHARD_COUNT, Lane

ALL = [f"{lane}-{shard}" for lane in Lane for shard in range(SHARD_COUNT)]
ROUND = sum(LANE_WEIGHTS.values())
queues = st.sets(st.sampled_from(ALL), min_size=1)


class Clock:
    """Moves when told."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        """Now."""
        return self.now


def lane_of(queue: str) -> Lane:
    return Lane(queue.partition("-")[0])


def take(turns: FairTurns, waiting: set[str]) -> str:
    """A turn that gives a call."""
    queue = turns.choose(waiting)
    turns.delivered(queue)
    return queue


@pytest.mark.requirement("broker:fair")
@settings(max_examples=20, deadline=None)
@given(waiting=queues)
def test_weights_hold_over_10000_calls(waiting: set[str]) -> None:
    """Whichever queues are full: each lane's share is that of its weight within 10 %, each shard's that of its lane."""
    turns = FairTurns(clock=Clock())
    given_to = Counter(take(turns, waiting) for _ in range(10_000))
    lanes = {lane_of(queue) for queue in waiting}
    total = sum(LANE_WEIGHTS[lane] for lane in lanes)
    for lane in lanes:
        shards = [queue for queue in waiting if lane_of(queue) is lane]
        share = 10_000 * LANE_WEIGHTS[lane] / total
        assert sum(given_to[queue] for queue in shards) == pytest.approx(share, rel=0.1)
        assert max(given_to[queue] for queue in shards) - min(given_to[queue] for queue in shards) <= 1


@settings(max_examples=60, deadline=None)
@given(history=st.lists(st.tuples(queues, st.booleans()), max_size=60), waiting=queues)
@pytest.mark.requirement("broker:fair")
def test_nobody_who_waits_is_passed_over_for_more_than_two_rounds(
    history: list[tuple[set[str], bool]], waiting: set[str]
) -> None:
    """Whatever happened before, every lane is served within two rounds, and every queue once its lane's others were."""
    turns = FairTurns(clock=Clock())
    for before, empty in history:
        queue = turns.choose(before)
        (turns.came_up_empty if empty else turns.delivered)(queue)
    served = [take(turns, waiting) for _ in range(2 * ROUND)]
    assert {lane_of(queue) for queue in served} == {lane_of(queue) for queue in waiting}
    longest = [take(turns, waiting) for _ in range(2 * ROUND * SHARD_COUNT)]
    assert set(longest) == waiting


def test_call_in_another_shard_starts_within_two_turns_of_its_lane() -> None:
    """A full shard does not keep a newcomer of another one waiting."""
    turns = FairTurns(clock=Clock())
    for _ in range(1000):
        take(turns, {"normal-1"})
    assert "normal-2" in [take(turns, {"normal-1", "normal-2"}) for _ in range(2)]


def test_interactive_call_overtakes_any_number_of_bulk_ones() -> None:
    """A lane that comes to life is served before those that were busy all the time."""
    turns = FairTurns(clock=Clock())
    for _ in range(1000):
        take(turns, {"bulk-1"})
    assert take(turns, {"bulk-1", "interactive-3"}) == "interactive-3"


def test_lane_that_was_idle_is_owed_nothing() -> None:
    """It gets its share from now on, not the turns that it did not want before."""
    turns = FairTurns(clock=Clock())
    for _ in range(5000):
        take(turns, {"interactive-1"})
    lanes = Counter(lane_of(take(turns, {"interactive-1", "bulk-1"})) for _ in range(90))
    assert lanes[Lane.BULK] <= 90 / 9 + 1


def test_what_came_up_empty_costs_its_lane_nothing() -> None:
    """Asking a queue that others have emptied is no turn of its lane."""
    turns = FairTurns(clock=Clock())
    lanes: Counter[Lane] = Counter()
    waiting = {"interactive-0", "interactive-1", "normal-0", "bulk-0"}
    for number in range(13 * ROUND):
        queue = turns.choose(waiting)
        if number % 13 == 0:
            turns.came_up_empty(queue)
        else:
            turns.delivered(queue)
            lanes[lane_of(queue)] += 1
    for lane in Lane:
        assert lanes[lane] == pytest.approx(ROUND * LANE_WEIGHTS[lane], rel=0.15)


def test_several_questions_at_once_keep_the_shares() -> None:
    """A worker with many free slots asks for all of them before the first answer; a lane under way is not idle."""
    turns = FairTurns(clock=Clock())
    waiting = {"interactive-0", "normal-0", "bulk-0"}
    lanes: Counter[Lane] = Counter()
    for _ in range(ROUND * 10):
        asked = [turns.choose(waiting) for _ in range(8)]
        for queue in asked:
            turns.delivered(queue)
            lanes[lane_of(queue)] += 1
    for lane in Lane:
        assert lanes[lane] == pytest.approx(80 * LANE_WEIGHTS[lane], rel=0.1)


def test_lane_that_waited_too_long_is_next() -> None:
    """With long calls a small weight would mean hours; ageing bounds the wait."""
    clock = Clock()
    turns = FairTurns(clock=clock)
    waiting = {"interactive-0", "bulk-0"}
    assert take(turns, waiting) == "interactive-0"
    assert take(turns, waiting) == "bulk-0"
    assert take(turns, waiting) == "interactive-0"
    clock.now += PATIENCE_S / 2
    assert take(turns, waiting) == "interactive-0"
    clock.now += PATIENCE_S / 2
    assert take(turns, waiting) == "bulk-0"
