"""A task that a command gave to an agent: followed with the tasks that it gives others, taken back with the command."""

import asyncio
import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from toolmesh_broker.errors import BrokerError
from toolmesh_broker.task_scope import task_scope
from toolmesh_cli.mesh_connection import MeshConnection
from toolmesh_executor.loop.records import QuestionAsked, Record, ToolStarted
from toolmesh_executor.loop.task_state import TaskState
from toolmesh_executor.tasks.client import TaskClient
from toolmesh_executor.tasks.events import ReadEvent
from toolmesh_executor.tasks.waiting import waits

__all__ = ["AskedTask", "OpenQuestion", "deadline_ms", "tasks_of"]

_TAKEN_BACK_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """What a person is asked.

    Attributes:
        task: Id of the task that asks: the one that was asked, or one that it gave to another agent.
        asked: The question.
    """

    task: str
    asked: QuestionAsked


class AskedTask:
    """One task, as its asker sees it.

    Args:
        tasks: The mesh's tasks.
        task: The task's id.
        on_record: Is told each record once, and the agents, from the asked one down, one of which did it.
    """

    def __init__(self, tasks: TaskClient, task: str, on_record: Callable[[Record, tuple[str, ...]], object]) -> None:
        self._tasks = tasks
        self._task = task
        self._on_record = on_record
        self._told: dict[str, int] = {}
        self._states: dict[str, TaskState] = {}
        self._agents: dict[str, tuple[str, ...]] = {}
        self._asked: set[tuple[str, str]] = set()
        self._new: tuple[OpenQuestion, ...] = ()

    @property
    def state(self) -> TaskState:
        """Where the task stands, as far as it was followed."""
        return self._states.get(self._task, TaskState())

    def questions(self) -> tuple[OpenQuestion, ...]:
        """Return what people are asked now."""
        return tuple(
            OpenQuestion(task, asked)
            for task, state in self._states.items()
            if state.ended is None
            for asked in state.questions.values()
        )

    def new_questions(self) -> tuple[OpenQuestion, ...]:
        """Return those of the questions that were not returned before: an answer takes a moment to be seen."""
        return self._new

    async def until_it_needs_someone(self) -> TaskState:
        """Follow the task until it has ended or nothing goes on without a person; return where it stands then.

        If whoever waits here is cancelled, the task is taken back.
        """
        events: asyncio.Queue[tuple[str, ReadEvent]] = asyncio.Queue()
        self._agents = {self._task: ()}
        self._states = {self._task: TaskState()}
        try:
            async with task_scope() as group:
                following = [group.create_task(self._feed(self._task, events))]
                while self.state.ended is None:
                    task, event = await events.get()
                    if (peer := self._take(task, event)) is not None:
                        following.append(group.create_task(self._feed(peer, events)))
                    if self._told_now(task, event) and self._needs_a_person():
                        break
                for each in following:
                    each.cancel()
        except asyncio.CancelledError:
            with contextlib.suppress(BrokerError, TimeoutError):
                async with asyncio.timeout(_TAKEN_BACK_S):
                    await self._tasks.cancel(self._task, "who asked has taken it back")
            raise
        return self.state

    async def _feed(self, task: str, events: asyncio.Queue[tuple[str, ReadEvent]]) -> None:
        async with contextlib.aclosing(self._tasks.follow(task)) as following:
            async for event in following:
                await events.put((task, event))

    def _take(self, task: str, event: ReadEvent) -> str | None:
        """Take in an event; return the task that it gives to another agent."""
        record = event.record
        self._states[task] = self._states[task].after(record)
        if not isinstance(record, ToolStarted) or record.peer is None or record.peer.task in self._states:
            return None
        peer = record.peer.task
        self._states[peer] = TaskState()
        self._agents[peer] = (*self._agents[task], record.tool)
        return peer

    def _told_now(self, task: str, event: ReadEvent) -> bool:
        if event.number <= self._told.get(task, 0):
            return False
        self._told[task] = event.number
        self._on_record(event.record, self._agents[task])
        return True

    def _needs_a_person(self) -> bool:
        """Tell whether nothing goes on but for questions, of which one is new."""
        going_on = [state for state in self._states.values() if state.ended is None]
        self._new = tuple(one for one in self.questions() if (one.task, one.asked.call) not in self._asked)
        if not self._new or not all(waits(state) for state in going_on):
            return False
        self._asked |= {(one.task, one.asked.call) for one in self._new}
        return True


def deadline_ms(timeout_s: float | None) -> int:
    """Return the Unix time in milliseconds at which a timeout is over; 0 without one."""
    return 0 if timeout_s is None else int((time.time() + timeout_s) * 1000)


def tasks_of(mesh: MeshConnection) -> TaskClient:
    """Return the tasks of a mesh."""
    return TaskClient(mesh.broker, mesh.client)
