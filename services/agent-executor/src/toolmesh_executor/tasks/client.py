"""Asks agents from outside: gives them tasks, reads what happens, answers their questions, takes tasks back."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Final

from toolmesh_broker.heartbeats import read_heartbeats
from toolmesh_broker.jetstream.broker import JetStreamBroker
from toolmesh_client.client import Client
from toolmesh_client.token_claims import read_claims
from toolmesh_contracts.envelopes.task import Answer, Task
from toolmesh_contracts.errors import ErrorCode, MalformedMessageError
from toolmesh_contracts.ids import new_uuid7, uuid7_milliseconds
from toolmesh_contracts.wire import encode
from toolmesh_executor.dispatch import not_found
from toolmesh_executor.loop.records import TaskCancelled
from toolmesh_executor.loop.task_state import TaskState
from toolmesh_executor.tasks.cancelling import end_task
from toolmesh_executor.tasks.errors import TaskError
from toolmesh_executor.tasks.events import ReadEvent, read_event
from toolmesh_executor.tasks.journal import opened_journal
from toolmesh_executor.tasks.sending import TaskSender

__all__ = ["TaskClient", "TaskSummary"]

_WRITER: Final = "client"
_MARGIN: Final = 16_384
"""Bytes of a message besides the text."""


@dataclass(frozen=True, slots=True)
class TaskSummary:
    """A task in a list.

    Attributes:
        id: Its id.
        state: Where it stands.
        problem: Why its records can't be read; empty if they can.
    """

    id: str
    state: TaskState
    problem: str = ""


class TaskClient:
    """The tasks of one mesh.

    Args:
        broker: Where they are.
        client: Cancels the calls of a task that is taken back.
    """

    def __init__(self, broker: JetStreamBroker, client: Client) -> None:
        self._broker = broker
        self._client = client
        self._log = broker.events()
        self._sender = TaskSender(broker.tasks())

    async def start(self, agent: str, text: str, token: str, *, follows: str = "", deadline_ms: int = 0) -> str:
        """Give an agent a task and return its id.

        Args:
            agent: The agent's name.
            text: What it is asked.
            token: Says who asks.
            follows: Id of the task before it in its conversation.
            deadline_ms: Unix time in milliseconds; 0 for none.

        Raises:
            DispatchError: no executor runs such an agent.
            TaskError: the text is too long for the broker.
            BrokerError: refused, or unknown whether it is queued.
        """
        known = {one.name: one for beat in await read_heartbeats(self._broker) for one in beat.agents}
        if agent not in known:
            raise not_found(f"no executor runs an agent {agent!r}", agent, known)
        task = Task(id=new_uuid7(), agent=agent, text=text, follows=follows, deadline_ms=deadline_ms)
        if (size := len(encode(task))) > (most := self._broker.max_payload - _MARGIN):
            raise TaskError(
                f"the text has {size} bytes as it travels, as JSON; a task has at most {most}",
                hint="give the agent a file that it can read, or ask in parts",
            )
        await self._sender.start(task, token)
        return task.id

    async def follow(self, task: str) -> AsyncGenerator[ReadEvent]:
        """Yield a task's events from the first one on, as they happen, until it has ended.

        Raises:
            MalformedMessageError: an event can't be read.
        """
        reading = self._log.follow(task)
        try:
            state = TaskState()
            async for message in reading:
                event = read_event(message)
                state = state.after(event.record)
                yield event
                if state.ended is not None:
                    return
        finally:
            await reading.aclose()

    async def state(self, task: str) -> TaskState:
        """Return where a task stands.

        Raises:
            TaskError: there is no such task.
            BrokerError: the broker can't be asked.
        """
        return (await self.history(task))[1]

    async def history(self, task: str) -> tuple[tuple[ReadEvent, ...], TaskState]:
        """Return a task's events so far, and where they lead to; errors as `state`."""
        events = tuple(read_event(message) for message in await self._log.read(task))
        if not events:
            raise _no_such_task(task)
        state = TaskState()
        for event in events:
            state = state.after(event.record)
        return events, state

    async def answer(self, task: str, answer: Answer, token: str) -> None:
        """Answer what a call of a task asks.

        Raises:
            TaskError: nothing of the kind is asked, or another user is.
            BrokerError: refused, or unknown whether it is queued.
        """
        state = await self.state(task)
        if answer.call not in state.questions or state.started is None:
            open_calls = ", ".join(state.questions) or "none"
            raise TaskError(f"call {answer.call!r} of task {task} asks nothing; calls that ask: {open_calls}")
        if read_claims(token).subject != state.started.user:
            raise TaskError(
                f"task {task} is {state.started.user!r}'s, who alone can answer",
                code=ErrorCode.PERMISSION_DENIED,
                hint="answer as that user",
            )
        await self._sender.tell(Task(id=task, agent=state.started.agent, answer=answer), token)

    async def cancel(self, task: str, reason: str, token: str = "") -> bool:
        """Take a task back, wherever it is; False if it has ended before.

        Args:
            task: Its id.
            reason: Why, for its events.
            token: Says who cancels. If it is the one who asked, an agent that waits for the task goes on at once, with
                this token; else once the time is over that it gave the task.

        Raises:
            TaskError: there can be no such task.
            BrokerError: the broker can't be asked.
        """
        if uuid7_milliseconds(task) is None:
            raise _no_such_task(task)
        if not await end_task(self._broker, self._client, task, TaskCancelled(reason=reason), _WRITER):
            return False
        started = (await self.state(task)).started
        if token and started is not None and started.parent and read_claims(token).subject == started.user:
            await self._sender.tell(Task(id=started.parent, agent=started.parent_agent, wake=True), token)
        return True

    async def recent(self, most: int) -> Sequence[TaskSummary]:
        """Return the newest tasks that have been begun, at most `most`.

        Raises:
            BrokerError: the broker can't be asked.
        """
        found = []
        for task in await self._log.recent(most):
            try:
                async with opened_journal(self._log, task, _WRITER) as journal:
                    found.append(TaskSummary(task, journal.state))
            except MalformedMessageError as error:
                found.append(TaskSummary(task, TaskState(), str(error)))
        return found


def _no_such_task(task: str) -> TaskError:
    return TaskError(
        f"there is no task {task!r}",
        code=ErrorCode.INVALID_REQUEST,
        hint="`toolmesh tasks list` shows those of the last days; one that no executor has begun has no events",
    )
