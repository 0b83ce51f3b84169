"""The calls that run on this worker now, and how each can be stopped from outside."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from toolmesh_contracts.errors import ErrorCode

__all__ = ["RunningCall", "RunningCalls", "StopReason"]


@dataclass(frozen=True, slots=True)
class StopReason:
    """Why a call was stopped, as the caller will read it."""

    code: ErrorCode
    message: str


@dataclass(slots=True)
class RunningCall:
    """One running call.

    Attributes:
        invocation: Its id.
        executor: Who may cancel it.
        stopped: Why it was stopped; None while nobody asked for it.
    """

    invocation: str
    executor: str
    stopped: StopReason | None = None
    _task: "asyncio.Task[object] | None" = None

    def attach(self, task: "asyncio.Task[object]") -> None:
        """Name the task that ends when the call is stopped; one stopped before that ends at once."""
        self._task = task
        if self.stopped is not None:
            task.cancel()

    def stop(self, reason: StopReason) -> None:
        """Kill the tool; the first reason counts."""
        if self.stopped is None:
            self.stopped = reason
            if self._task is not None:
                self._task.cancel()


@dataclass(slots=True)
class RunningCalls:
    """The running calls by id."""

    _calls: dict[str, RunningCall] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._calls)

    @contextmanager
    def running(self, invocation: str, executor: str) -> Iterator[RunningCall]:
        """Let a call be stopped from outside within the block."""
        call = RunningCall(invocation, executor)
        self._calls[invocation] = call
        try:
            yield call
        finally:
            if self._calls.get(invocation) is call:
                del self._calls[invocation]

    def get(self, invocation: str) -> RunningCall | None:
        """Return the running call of this id."""
        return self._calls.get(invocation)

    def stop_all(self, reason: StopReason) -> None:
        """Stop every running call."""
        for call in list(self._calls.values()):
            call.stop(reason)
