"""Which steps were hit how often, and which is to be next."""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from toolmesh_contracts.call_steps import CallStep

__all__ = ["Coverage", "Dies"]


class Dies(StrEnum):
    """Which of the two processes of a call is killed."""

    WORKER = "worker dies"
    EXECUTOR = "executor dies"


@dataclass
class Coverage:
    """Counts hits by step and by who died."""

    chance: random.Random
    hits: Counter[tuple[CallStep, Dies]] = field(default_factory=Counter)
    misses: Counter[tuple[CallStep, Dies]] = field(default_factory=Counter)

    def next_of(self, steps: Sequence[CallStep], allowed: Sequence[Dies] = tuple(Dies)) -> tuple[CallStep, Dies] | None:
        """Return the allowed pair with the fewest hits; one that was tried in vain waits a little for its next turn.

        None where all of these are ahead of another step's: deaths are scarce, and shall go where they are due.
        """
        pairs = [(step, dies) for step in steps for dies in allowed if self._is_due(step, dies)]
        self.chance.shuffle(pairs)
        return min(pairs, key=self._turn, default=None)

    def _turn(self, pair: tuple[CallStep, Dies]) -> float:
        return self.hits[pair] + self.misses[pair] / 3

    def _is_due(self, step: CallStep, dies: Dies) -> bool:
        return self._turn((step, dies)) <= min(self._turn((other, dies)) for other in CallStep) + 1

    def hit(self, step: CallStep, dies: Dies) -> None:
        """Count a hit."""
        self.hits[step, dies] += 1

    def missed(self, step: CallStep, dies: Dies) -> None:
        """Count a try for which no call came by."""
        self.misses[step, dies] += 1

    @property
    def least(self) -> int:
        """Hits of the pair that has the fewest."""
        return min(self.hits[step, dies] for step in CallStep for dies in Dies)
