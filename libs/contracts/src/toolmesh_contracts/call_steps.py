"""The named steps of one call (docs/architecture.md, "One call"), for who has to know how far a call has come."""

from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import Final, TypeAlias

__all__ = ["EXECUTOR_STEPS", "WORKER_STEPS", "CallObserver", "CallStep", "observe_nothing"]


class CallStep(StrEnum):
    """A point between two acts; the next act is done once the observer has returned."""

    WAITER_REGISTERED = "waiter registered"
    """The executor hears replies; the call is not published."""
    PUBLISHED = "published"
    """The queue has acknowledged it."""
    RESULT_RECEIVED = "result received"
    """The executor has the whole result; nobody else has seen it there."""
    HANDED_OVER = "handed over"
    """The caller has it, and what was to be kept is kept; it is not confirmed."""
    CONFIRMED = "confirmed"
    """The confirmation is on its way to the worker."""
    PULLED = "pulled"
    """A worker has the message; nothing of it is verified, its id neither."""
    ADMITTED = "admitted"
    """Caller, content and place are proven; the ledger was not asked."""
    TAKEN = "ledger taken"
    """The ledger has the run; the tool is not started."""
    RUNNING = "running"
    """The tool's process has started."""
    RENEWED = "lease renewed"
    """Ledger and queue have the renewal."""
    ENDED = "run ended"
    """The worker has the result and has not sent it."""
    RESULT_CONFIRMED = "result confirmed"
    """The executor has it; the message is in the queue."""
    RESULT_STORED = "result stored"
    """Nobody confirmed it, so it is stored; the message is in the queue."""
    ACKED = "acked"
    """The message has left the queue."""


EXECUTOR_STEPS: Final = (
    CallStep.WAITER_REGISTERED,
    CallStep.PUBLISHED,
    CallStep.RESULT_RECEIVED,
    CallStep.HANDED_OVER,
    CallStep.CONFIRMED,
)
WORKER_STEPS: Final = tuple(step for step in CallStep if step not in EXECUTOR_STEPS)

CallObserver: TypeAlias = Callable[[CallStep, str], Awaitable[None]]
"""Awaited at each step with the call's id; the call goes on when it returns."""


async def observe_nothing(step: CallStep, invocation: str) -> None:
    """Go on at once: what everybody does who injects nothing."""
