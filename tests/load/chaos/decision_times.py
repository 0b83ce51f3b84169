"""How long the calls of a killed worker wait until it is decided how they end."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tests.load.chaos.history import CallHistory, Fault, History

from toolmesh_contracts.call_steps import CallStep

__all__ = ["DecisionTime", "DecisionTimes", "decision_times"]

_RUN = frozenset({CallStep.TAKEN, CallStep.RUNNING, CallStep.RENEWED, CallStep.ENDED})
"""Steps after which the worker has the call, and nobody its result."""
_BEFORE_S = 3.0
"""What a fault of the broker that is over may still hold up."""
_DECIDES = frozenset({CallStep.TAKEN, CallStep.RESULT_CONFIRMED, CallStep.RESULT_STORED})
"""Steps of another worker that has run it anew or answered for the dead one."""
_OF_THE_BROKER = frozenset({"broker kill", "broker stop", "disk full"})


@dataclass(frozen=True, slots=True)
class DecisionTime:
    """One call of one killed worker."""

    call: str
    worker: str
    seconds: float
    undisturbed: bool
    """The broker, the call's executor and the network between them were whole meanwhile."""


@dataclass(frozen=True, slots=True)
class DecisionTimes:
    """All of a run."""

    all: tuple[DecisionTime, ...]

    @property
    def undisturbed(self) -> tuple[DecisionTime, ...]:
        """Those that count."""
        return tuple(each for each in self.all if each.undisturbed)

    def within(self, seconds: float) -> int:
        """How many of all were decided in so many seconds, whatever else happened."""
        return sum(each.seconds <= seconds for each in self.all)

    def longest_s(self) -> float:
        """Seconds of the slowest of those that count; 0 without one."""
        return max((each.seconds for each in self.undisturbed), default=0.0)

    def percentile_s(self, share: float) -> float:
        """Seconds within which a share of those that count was decided; 0 without one."""
        ordered = sorted(each.seconds for each in self.undisturbed)
        return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else 0.0


def decision_times(history: History) -> DecisionTimes:
    """Return the times of all calls that a killed worker was running; decided is a result, or what the next worker does."""
    kills = [fault for fault in history.faults if fault.kind == "kill"]
    by_pid = {fault.pid: fault for fault in kills}
    found: list[DecisionTime] = []
    for call in history.calls.values():
        for kill in _ended_runs(call, by_pid):
            decided = _decided_at(call, kill)
            if decided is not None:
                seconds = decided - kill.at
                whole = _is_undisturbed(call, kill, decided, history.faults)
                found.append(DecisionTime(call.id, kill.target, seconds, whole))
    return DecisionTimes(tuple(found))


def _ended_runs(call: CallHistory, kills: dict[int, Fault]) -> Iterator[Fault]:
    """Yield the kills that ended a run of this call."""
    for pid in {step.pid for step in call.steps if step.step is CallStep.TAKEN}:
        kill = kills.get(pid)
        last = [step for step in call.steps if step.pid == pid][-1]
        if kill is not None and kill.at >= last.at and last.step in _RUN:
            yield kill


def _decided_at(call: CallHistory, kill: Fault) -> float | None:
    results = [result.at for result in call.results]
    if any(at < kill.at for at in results):
        return None
    elsewhere = [step.at for step in call.steps if step.step in _DECIDES and step.at > kill.at and step.pid != kill.pid]
    return min([*results, *elsewhere], default=None)


def _is_undisturbed(call: CallHistory, kill: Fault, decided: float, faults: Sequence[Fault]) -> bool:
    return not any(
        fault.touches(kill.at - _BEFORE_S, decided) and (fault.kind in _OF_THE_BROKER or fault.target == call.executor)
        for fault in faults
    )
