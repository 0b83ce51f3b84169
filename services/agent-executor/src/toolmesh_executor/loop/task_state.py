"""Where a task stands, worked out from its records alone: whoever has these can go on with it."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from toolmesh_executor.loop.records import (
    ModelAnswered,
    Record,
    TaskCancelled,
    TaskCompleted,
    TaskFailed,
    TaskStarted,
    TextDelta,
    ToolEnded,
    ToolRequest,
    ToolStarted,
    ToolStatus,
    TurnRestarted,
    TurnStarted,
)

__all__ = ["AnsweredTurn", "TaskState", "Terminal", "state_of"]

Terminal = TaskCompleted | TaskFailed | TaskCancelled
"""How a task ends: exactly once."""


@dataclass(frozen=True, slots=True)
class AnsweredTurn:
    """A turn that the model has completed, and the results of its calls so far."""

    answer: ModelAnswered
    results: tuple[ToolEnded, ...] = ()

    def waiting(self) -> tuple[ToolRequest, ...]:
        """Return the calls that have no result."""
        ended = {result.call for result in self.results}
        return tuple(request for request in self.answer.requests if request.call not in ended)


@dataclass(frozen=True, slots=True)
class TaskState:
    """A task so far.

    Attributes:
        started: Who asked which agent what; None before that.
        turns: The completed turns.
        open_turn: The turn that the model was asked for and has not completed; None without one.
        begun: Calls that were dispatched and have no result.
        ended: How it ended; None while it goes on.
    """

    started: TaskStarted | None = None
    turns: tuple[AnsweredTurn, ...] = ()
    open_turn: int | None = None
    begun: frozenset[str] = frozenset()
    ended: Terminal | None = None

    @property
    def next_turn(self) -> int:
        """The number of the next turn, from 1."""
        return len(self.turns) + 1

    def results(self) -> tuple[ToolEnded, ...]:
        """Return all results in the order in which they came."""
        return tuple(result for turn in self.turns for result in turn.results)

    def after(self, record: Record) -> "TaskState":
        """Return the state that a record leads to."""
        match record:
            case TaskStarted():
                return replace(self, started=record)
            case TurnStarted():
                return replace(self, open_turn=record.turn)
            case TurnRestarted():
                return replace(self, open_turn=None)
            case ModelAnswered():
                return replace(self, turns=(*self.turns, AnsweredTurn(record)), open_turn=None)
            case ToolStarted():
                return replace(self, begun=self.begun | {record.call})
            case ToolEnded():
                *before, last = self.turns
                last = replace(last, results=(*last.results, record))
                return replace(self, turns=(*before, last), begun=self.begun - {record.call})
            case TextDelta() | ToolStatus():
                return self
            case TaskCompleted() | TaskFailed() | TaskCancelled():
                return replace(self, ended=record)


def state_of(records: Iterable[Record]) -> TaskState:
    """Return where the records lead to."""
    state = TaskState()
    for record in records:
        state = state.after(record)
    return state
