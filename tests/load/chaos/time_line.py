"""A run second by second."""

import math
from collections import Counter
from dataclasses import dataclass

from tests.load.chaos.history import CallHistory, History

from toolmesh_contracts.call_steps import CallStep

__all__ = ["Span", "TimeLine", "time_line"]


@dataclass(frozen=True, slots=True)
class Span:
    """A fault, in seconds since the run began."""

    kind: str
    target: str
    begin: float
    end: float


@dataclass(frozen=True, slots=True)
class TimeLine:
    """Figures of each second.

    Attributes:
        accepted: Calls that were offered in it and accepted.
        ended: Calls whose result was journaled or stored in it, or that expired in it.
        in_flight: Accepted calls that had not ended at its end.
        spans: The faults.
    """

    accepted: tuple[int, ...]
    ended: tuple[int, ...]
    in_flight: tuple[int, ...]
    spans: tuple[Span, ...]

    @property
    def seconds(self) -> int:
        """Length."""
        return len(self.accepted)


def time_line(history: History) -> TimeLine:
    """Count by second."""
    length = max(1, math.ceil(history.ended - history.began))
    accepted: Counter[int] = Counter()
    ended: Counter[int] = Counter()
    for call in history.calls.values():
        if call.accepted or call.results:
            accepted[_second(call.offered_at, history)] += 1
            ended[_second(_ended_at(call), history)] += 1
    in_flight, level = [], 0
    for second in range(length):
        level += accepted[second] - ended[second]
        in_flight.append(level)
    spans = [
        Span(fault.kind, fault.target, fault.at - history.began, min(fault.until, history.ended) - history.began)
        for fault in history.faults
    ]
    return TimeLine(
        tuple(accepted[second] for second in range(length)),
        tuple(ended[second] for second in range(length)),
        tuple(in_flight),
        tuple(spans),
    )


def _ended_at(call: CallHistory) -> float:
    """Return when a call's first result was written somewhere, at the latest its deadline."""
    stored = [step.at for step in call.steps if step.step is CallStep.RESULT_STORED]
    return min([*(result.at for result in call.results), *stored], default=call.deadline)


def _second(at: float, history: History) -> int:
    return max(0, int(at - history.began))
