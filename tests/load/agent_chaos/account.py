"""What became of each task, held against what really happened."""

import json
from collections import Counter
from dataclasses import dataclass, field

from tests.load.agent_chaos.script import effect_names

from toolmesh_executor.loop.records import ModelAnswered, TaskCancelled, TaskCompleted, TaskFailed, ToolEnded
from toolmesh_executor.tasks.events import ReadEvent

__all__ = ["Account"]

_UNKNOWN = "unknown"


@dataclass
class Account:
    """The tasks of a run.

    Attributes:
        tasks: How many were asked.
        finished: Those that completed.
        gaps: Event numbers that are missing or out of order, and ends other than one.
        unknown: Calls that ended with an unknown outcome.
        effects: How many happened.
        doubled_effects: How many of them more than once.
        problems: What breaks a promise.
    """

    tasks: int = 0
    finished: int = 0
    gaps: int = 0
    unknown: int = 0
    effects: int = 0
    doubled_effects: int = 0
    problems: list[str] = field(default_factory=list)
    _results: dict[str, str] = field(default_factory=dict)
    """What was told of the call of each effect."""
    _names: set[str] = field(default_factory=set)

    def take(self, name: str, events: list[ReadEvent], peers: list[list[ReadEvent]]) -> None:
        """Take in a task that has ended, with its whole history and those of the tasks that it gave to peers."""
        self.tasks += 1
        for history in (events, *peers):
            self._check_numbers(name, history)
        ends = [
            event.record for event in events if isinstance(event.record, TaskCompleted | TaskFailed | TaskCancelled)
        ]
        if len(ends) == 1 and isinstance(ends[0], TaskCompleted):
            self.finished += 1
        else:
            self.problems.append(f"task {name} ended as {ends}")
        for history in (events, *peers):
            self._results |= _results(history)
        self._names.add(name)

    def hold_against(self, happened: Counter[str]) -> None:
        """Compare with the effects: none twice, and none missing but where an outcome was told as unknown."""
        for effect in (effect for name in self._names for effect in effect_names(name)):
            told = self._results.get(effect, "nothing at all")
            self.unknown += _UNKNOWN in told
            if not happened[effect] and _UNKNOWN not in told:
                self.problems.append(f"effect {effect} never happened, and its call was told: {told}")
        twice = [name for name, times in happened.items() if times > 1]
        self.problems += [f"effect {name} happened {happened[name]} times" for name in twice]
        self.effects, self.doubled_effects = happened.total(), len(twice)

    def _check_numbers(self, name: str, history: list[ReadEvent]) -> None:
        numbers = [event.number for event in history]
        ends = sum(isinstance(event.record, TaskCompleted | TaskFailed | TaskCancelled) for event in history)
        if numbers != list(range(1, len(numbers) + 1)) or ends != 1:
            self.gaps += 1
            self.problems.append(f"task {name} has the events {numbers} and {ends} ends")


def _results(history: list[ReadEvent]) -> dict[str, str]:
    records = [event.record for event in history]
    requests = {one.call: one for record in records if isinstance(record, ModelAnswered) for one in record.requests}
    return {
        str(json.loads(requests[record.call].arguments).get("name", "")): record.content
        for record in records
        if isinstance(record, ToolEnded)
    }
