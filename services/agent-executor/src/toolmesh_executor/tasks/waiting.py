"""What a task that waits is waiting for, and until when."""

from collections.abc import Iterator
from typing import Final

from toolmesh_executor.loop.records import QuestionAnswered
from toolmesh_executor.loop.task_state import TaskState
from toolmesh_executor.tasks.peers import GRACE_MS

__all__ = ["due_at_ms", "overdue_answers", "waits"]


_NEVER: Final = 0


def waits(state: TaskState) -> bool:
    """Tell whether a task needs no executor: all its open calls wait for people or other agents."""
    if state.ended is not None or not state.turns or state.open_turn is not None:
        return False
    waiting = [request.call for request in state.turns[-1].waiting()]
    return bool(waiting) and all(_waits(state, call) for call in waiting)


def due_at_ms(state: TaskState) -> int:
    """Return the Unix time in milliseconds at which somebody must look after a task that waits; 0 for never."""
    times = list(_times(state))
    return min(times) if times else _NEVER


def overdue_answers(state: TaskState, now_ms: int) -> tuple[QuestionAnswered, ...]:
    """Return that nobody answered the questions whose time is over."""
    return tuple(
        QuestionAnswered(call=asked.call, asks_for=asked.asks_for)
        for asked in state.questions.values()
        if asked.expires_ms and asked.expires_ms <= now_ms
    )


def _waits(state: TaskState, call: str) -> bool:
    begun = state.begun.get(call)
    return call in state.questions or (begun is not None and begun.peer is not None)


def _times(state: TaskState) -> Iterator[int]:
    if state.started is not None and state.started.deadline_ms:
        yield state.started.deadline_ms
    for asked in state.questions.values():
        if asked.expires_ms:
            yield asked.expires_ms
    for started in state.begun.values():
        if started.peer is not None:
            yield started.peer.deadline_ms + GRACE_MS
