"""Where a task stands, worked out from its records alone: whoever has these can go on with it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final, TypeVar

from toolmesh_executor.loop.records import (
    AnswerRefused,
    ConversationCompacted,
    ModelAnswered,
    QuestionAnswered,
    QuestionAsked,
    Record,
    TaskCancelled,
    TaskCompleted,
    TaskFailed,
    TaskResumed,
    TaskStarted,
    TextDelta,
    ToolEnded,
    ToolRequest,
    ToolStarted,
    ToolStatus,
    TurnRestarted,
    TurnStarted,
    TurnStatus,
)

__all__ = ["AnsweredTurn", "TaskState", "Terminal", "state_of"]

Terminal = TaskCompleted | TaskFailed | TaskCancelled
"""How a task ends: exactly once."""


@dataclass(frozen=True, slots=True)
class AnsweredTurn:
    """A turn that the model has completed, and the results of its calls so far."""

    answer: ModelAnswered
    results: tuple[ToolEnded, ...] = ()
    refused: str = ""
    """Why it does not count as the task's answer."""

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
        compactions: What the model was told in place of the oldest part; the last one holds.
        open_turn: The turn that the model was asked for and has not completed; None without one.
        begun: How the calls that have no result were dispatched, by call.
        questions: What people are asked now, by call.
        answers: What they answered, by call.
        message: Sequence of the queue's message that keeps the task going; settled while the task waits.
        in_vain: How often in a row it was taken over without getting any further.
        ended: How it ended; None while it goes on.
    """

    started: TaskStarted | None = None
    turns: tuple[AnsweredTurn, ...] = ()
    compactions: tuple[ConversationCompacted, ...] = ()
    open_turn: int | None = None
    begun: Mapping[str, ToolStarted] = field(default_factory=lambda: _NONE_BEGUN)
    questions: Mapping[str, QuestionAsked] = field(default_factory=lambda: _NONE_ASKED)
    answers: Mapping[str, QuestionAnswered] = field(default_factory=lambda: _NONE_ANSWERED)
    message: int = 0
    in_vain: int = 0
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
                return replace(self, started=record, message=record.message)
            case TaskResumed():
                return replace(self, message=record.message, in_vain=self.in_vain + 1)
            case TurnStarted():
                return replace(self, open_turn=record.turn)
            case TurnRestarted():
                return replace(self, open_turn=None)
            case ModelAnswered():
                return replace(self, turns=(*self.turns, AnsweredTurn(record)), open_turn=None, in_vain=0)
            case ConversationCompacted():
                return replace(self, compactions=(*self.compactions, record), open_turn=None)
            case ToolStarted():
                return replace(self, begun={**self.begun, record.call: record})
            case ToolEnded() | AnswerRefused():
                return self._in_last_turn(record)
            case QuestionAsked() | QuestionAnswered():
                return self._after_question(record)
            case TextDelta() | ToolStatus() | TurnStatus():
                return self
            case TaskCompleted() | TaskFailed() | TaskCancelled():
                return replace(self, ended=record, questions=_NONE_ASKED)

    def _in_last_turn(self, record: ToolEnded | AnswerRefused) -> "TaskState":
        *before, last = self.turns
        if isinstance(record, AnswerRefused):
            return replace(self, turns=(*before, replace(last, refused=record.problem)))
        last = replace(last, results=(*last.results, record))
        return replace(self, turns=(*before, last), begun=_without(self.begun, record.call), in_vain=0)

    def _after_question(self, record: QuestionAsked | QuestionAnswered) -> "TaskState":
        if isinstance(record, QuestionAsked):
            questions = {**self.questions, record.call: record}
            return replace(self, questions=questions, begun=_without(self.begun, record.call), in_vain=0)
        answers = {**self.answers, record.call: record}
        return replace(self, answers=answers, questions=_without(self.questions, record.call), in_vain=0)


_NONE_BEGUN: Final[Mapping[str, ToolStarted]] = MappingProxyType({})
_NONE_ASKED: Final[Mapping[str, QuestionAsked]] = MappingProxyType({})
_NONE_ANSWERED: Final[Mapping[str, QuestionAnswered]] = MappingProxyType({})

V = TypeVar("V")


def _without(calls: Mapping[str, V], call: str) -> Mapping[str, V]:
    return {key: value for key, value in calls.items() if key != call}


def state_of(records: Iterable[Record]) -> TaskState:
    """Return where the records lead to."""
    state = TaskState()
    for record in records:
        state = state.after(record)
    return state
