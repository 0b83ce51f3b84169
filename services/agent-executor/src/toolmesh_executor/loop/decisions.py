"""What comes next in a task. A pure function of its state, so any executor that has the records decides the same."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, TypeAlias

from toolmesh_contracts.errors import ErrorCode
from toolmesh_executor.loop.records import Finish, TaskCompleted, TaskFailed, ToolRequest
from toolmesh_executor.loop.task_state import TaskState

__all__ = ["AskModel", "CallTools", "End", "LoopLimits", "Step", "Wait", "next_step", "whole_text"]

_MOST_ANSWERS: Final = 3
"""The model is told twice that its answer does not fit the schema."""
_MOST_CONTINUATIONS: Final = 5
"""Answers in a row that may be cut: a model that never comes to an end is stopped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopLimits:
    """Bounds of one task."""

    max_turns: int = 30
    """Turns of the model."""
    continues: bool = True
    """Ask the model to go on when its answer was cut."""


@dataclass(frozen=True, slots=True)
class AskModel:
    """Ask the model for this turn."""

    turn: int


@dataclass(frozen=True, slots=True)
class CallTools:
    """Get these calls their results.

    Attributes:
        calls: Those that were never begun.
        begun: Those that another run of the loop began: what became of them is to be found out.
    """

    calls: tuple[ToolRequest, ...]
    begun: tuple[ToolRequest, ...]


@dataclass(frozen=True, slots=True)
class Wait:
    """Do nothing until a person or another agent has answered: the task needs no executor."""


@dataclass(frozen=True, slots=True)
class End:
    """End the task with this record."""

    record: TaskCompleted | TaskFailed


Step: TypeAlias = AskModel | CallTools | Wait | End


def next_step(state: TaskState, limits: LoopLimits, later: Collection[str] = ()) -> Step | None:
    """Return what to do next; None when the task has ended.

    Args:
        state: The task.
        limits: Its bounds.
        later: Calls that are known to go on elsewhere, whose results will come by themselves.
    """
    if state.ended is not None:
        return None
    if not state.turns:
        return AskModel(state.next_turn)
    last = state.turns[-1]
    if waiting := last.waiting():
        ready = [one for one in waiting if one.call not in state.questions and one.call not in later]
        begun = tuple(request for request in ready if request.call in state.begun)
        calls = tuple(request for request in ready if request.call not in state.begun)
        return CallTools(calls, begun) if ready else Wait()
    if last.answer.requests:
        return _ask_again(state, limits)
    if last.refused:
        return _after_refusal(state, limits, last.refused)
    match last.answer.finish:
        case Finish.LENGTH if limits.continues and _continuations(state) < _MOST_CONTINUATIONS:
            return _ask_again(state, limits)
        case Finish.FILTERED:
            return End(
                TaskFailed(
                    code=ErrorCode.MODEL_FAILED,
                    message="the model did not answer: its provider's filter forbids it",
                    hint="ask differently",
                )
            )
    return End(TaskCompleted(text=whole_text(state)))


def _after_refusal(state: TaskState, limits: LoopLimits, problem: str) -> AskModel | End:
    if sum(bool(turn.refused) for turn in state.turns) < _MOST_ANSWERS:
        return _ask_again(state, limits)
    return End(
        TaskFailed(
            code=ErrorCode.MODEL_FAILED,
            message=f"the model gave no answer that fits `output_schema`, in {_MOST_ANSWERS} tries: {problem}",
            hint="loosen the schema in the agent's file, or choose another model",
        )
    )


def whole_text(state: TaskState) -> str:
    """Return the answer: the text of the last turn, and of the cut ones right before it."""
    texts: list[str] = []
    for turn in reversed(state.turns):
        if texts and (turn.refused or not _is_cut(turn.answer.finish, turn.answer.requests)):
            break
        texts.append(turn.answer.text)
    return "".join(reversed(texts))


def _ask_again(state: TaskState, limits: LoopLimits) -> AskModel | End:
    if len(state.turns) < limits.max_turns:
        return AskModel(state.next_turn)
    return End(
        TaskFailed(
            code=ErrorCode.RESOURCE_EXHAUSTED,
            message=f"the task used up its {limits.max_turns} turns of the model without an answer",
            hint="ask for less at a time, or raise max_llm_calls_per_task in the agent's file",
        )
    )


def _continuations(state: TaskState) -> int:
    number = 0
    for turn in reversed(state.turns[:-1]):
        if not _is_cut(turn.answer.finish, turn.answer.requests):
            break
        number += 1
    return number


def _is_cut(finish: Finish, requests: tuple[ToolRequest, ...]) -> bool:
    return finish is Finish.LENGTH and not requests
