"""What became of each task, held against what really happened."""

from collections import Counter
from dataclasses import dataclass, field

from tests.load.agent_chaos.script import effect_names

from toolmesh_executor.loop.records import TaskCancelled, TaskCompleted, TaskFailed, ToolEnded
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
    _told_unknown: set[str] = field(default_factory=set)
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
        results = [event.record for history in (events, *peers) for event in history]
        unknown = [one for one in results if isinstance(one, ToolEnded) and _UNKNOWN in one.content]
        self.unknown += len(unknown)
        if unknown:
            self._told_unknown.add(name)
        self._names.add(name)

    def hold_against(self, happened: Counter[str]) -> None:
        """Compare with the effects: none twice, and none missing but where an outcome was told as unknown."""
        for name in self._names - self._told_unknown:
            self.problems += [f"effect {one} never happened" for one in effect_names(name) if not happened[one]]
        twice = [name for name, times in happened.items() if times > 1]
        self.problems += [f"effect {name} happened {happened[name]} times" for name in twice]
        self.effects, self.doubled_effects = happened.total(), len(twice)

    def _check_numbers(self, name: str, history: list[ReadEvent]) -> None:
        numbers = [event.number for event in history]
        ends = sum(isinstance(event.record, TaskCompleted | TaskFailed | TaskCancelled) for event in history)
        if numbers != list(range(1, len(numbers) + 1)) or ends != 1:
            self.gaps += 1
            self.problems.append(f"task {name} has the events {numbers} and {ends} ends")
