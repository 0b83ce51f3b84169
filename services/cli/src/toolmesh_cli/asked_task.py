"""A task that a command gave to an agent: followed to its end, and taken back when the command is."""

import asyncio
import contextlib
import time
from collections.abc import Callable
from typing import Final

from toolmesh_broker.errors import BrokerError
from toolmesh_cli.mesh_connection import MeshConnection
from toolmesh_executor.loop.records import Record
from toolmesh_executor.loop.task_state import TaskState
from toolmesh_executor.tasks.client import TaskClient
from toolmesh_executor.tasks.waiting import waits

__all__ = ["AskedTask", "asks_a_person", "deadline_ms", "tasks_of"]

_TAKEN_BACK_S: Final = 5.0


class AskedTask:
    """One task, as its asker sees it.

    Args:
        tasks: The mesh's tasks.
        task: The task's id.
        on_record: Is told each record once.
    """

    def __init__(self, tasks: TaskClient, task: str, on_record: Callable[[Record], object]) -> None:
        self._tasks = tasks
        self._task = task
        self._on_record = on_record
        self._told = 0

    async def until_it_needs_someone(self) -> TaskState:
        """Follow the task until it has ended or waits for a person, and return where it stands then.

        If whoever waits here is cancelled, the task is taken back.
        """
        state = TaskState()
        following = self._tasks.follow(self._task)
        try:
            async for event in following:
                state = state.after(event.record)
                if event.number > self._told:
                    self._told = event.number
                    self._on_record(event.record)
                    if asks_a_person(state):
                        break
        except asyncio.CancelledError:
            with contextlib.suppress(BrokerError, TimeoutError):
                async with asyncio.timeout(_TAKEN_BACK_S):
                    await self._tasks.cancel(self._task, "who asked has taken it back")
            raise
        finally:
            await following.aclose()
        return state


def asks_a_person(state: TaskState) -> bool:
    """Tell whether a task goes on only once a person has answered."""
    return bool(state.questions) and waits(state)


def deadline_ms(timeout_s: float | None) -> int:
    """Return the Unix time in milliseconds at which a timeout is over; 0 without one."""
    return 0 if timeout_s is None else int((time.time() + timeout_s) * 1000)


def tasks_of(mesh: MeshConnection) -> TaskClient:
    """Return the tasks of a mesh."""
    return TaskClient(mesh.broker, mesh.client)
