"""Whose turn it is: which queue of a pool feeds a worker's next free slot.

JetStream has no priorities: a pool's lanes and shards are queues of their own, and a worker chooses among them. Lanes
share by weighted deficit round-robin with ageing, the shards of a lane take turns. Pure logic.
"""

import itertools
import math
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Final

from toolmesh_contracts.names import Lane

__all__ = ["LANE_WEIGHTS", "PATIENCE_S", "FairTurns"]

LANE_WEIGHTS: Final[Mapping[Lane, int]] = MappingProxyType({Lane.INTERACTIVE: 8, Lane.NORMAL: 3, Lane.BULK: 1})
"""Shares of the slots, among lanes that have calls waiting."""
PATIENCE_S: Final = 30.0
"""A lane that got nothing for so long is next, whatever its weight: with long calls its turn could be hours away."""


class FairTurns:
    """The turns of one worker. A queue is named as its consumer is: `<lane>-<shard>` in a pool.

    Args:
        weights: Share of each lane.
        patience_s: Seconds after which a waiting lane is next.
        clock: Monotonic, in seconds.
        lane_of: Tells a queue's lane from its name.
    """

    def __init__(
        self,
        weights: Mapping[Lane, int] = LANE_WEIGHTS,
        patience_s: float = PATIENCE_S,
        clock: Callable[[], float] = time.monotonic,
        lane_of: Callable[[str], Lane] | None = None,
    ) -> None:
        self._lane_of = lane_of or _lane_of_shard
        self._weights = weights
        self._patience_s = patience_s
        self._clock = clock
        self._had: dict[Lane, float] = {}
        """What each active lane was given, divided by its weight: the one with the least is owed the most."""
        self._waits_since: dict[Lane, float] = {}
        self._asked: Counter[Lane] = Counter()
        self._last_turn: dict[str, int] = {}
        self._turns = itertools.count(1)

    def choose(self, waiting: Collection[str]) -> str:
        """Return the queue whose turn it is, out of those in which calls may wait (at least one).

        Tell what comes of it: `delivered` or `came_up_empty`.
        """
        lanes = {self._lane_of(queue) for queue in waiting}
        self._activate(lanes)
        lane = self._most_patient(lanes) or min(lanes, key=lambda one: (self._had[one], -self._weights[one]))
        self._had[lane] += 1 / self._weights[lane]
        self._waits_since[lane] = self._clock()
        self._asked[lane] += 1
        mates = [one for one in waiting if self._lane_of(one) is lane]
        queue = min(mates, key=lambda one: (self._last_turn.get(one, 0), one))
        self._last_turn[queue] = next(self._turns)
        return queue

    def delivered(self, queue: str) -> None:
        """The chosen queue gave a call."""
        self._asked[self._lane_of(queue)] -= 1

    def came_up_empty(self, queue: str) -> None:
        """The chosen queue gave nothing: its lane is owed as much as before."""
        lane = self._lane_of(queue)
        self._asked[lane] -= 1
        if lane in self._had:
            self._had[lane] -= 1 / self._weights[lane]

    def _activate(self, lanes: Collection[Lane]) -> None:
        """Forget lanes that want nothing; one that wants something again is owed nothing from before."""
        now = self._clock()
        for gone in [one for one in self._had if one not in lanes and self._asked[one] <= 0]:
            del self._had[gone]
        for left in [one for one in self._waits_since if one not in lanes]:
            del self._waits_since[left]
        least = min(self._had.values(), default=0.0)
        for lane in lanes:
            self._had.setdefault(lane, least)
            self._waits_since.setdefault(lane, now)

    def _most_patient(self, lanes: Iterable[Lane]) -> Lane | None:
        lane = min(lanes, key=lambda one: self._waits_since.get(one, math.inf))
        return lane if self._clock() - self._waits_since[lane] >= self._patience_s else None


def _lane_of_shard(queue: str) -> Lane:
    return Lane(queue.rpartition("-")[0])
