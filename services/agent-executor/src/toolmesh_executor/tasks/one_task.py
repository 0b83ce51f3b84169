"""One message of the task queue, from its delivery until the task has ended, waits, or is another's."""

import asyncio
import time
from dataclasses import dataclass
from enum import Enum
from typing import Final

from toolmesh_broker.errors import BrokerTimeoutError, BrokerUnreachableError, NoRespondersError
from toolmesh_broker.jetstream.broker import JetStreamBroker
from toolmesh_contracts.envelopes.task import Answer, Task
from toolmesh_contracts.errors import ErrorCode, ToolmeshError
from toolmesh_executor.agent_loops import AgentLoops
from toolmesh_executor.loop.records import QuestionAnswered, TaskFailed, TaskResumed, TaskStarted
from toolmesh_executor.loop.runner import TaskRun
from toolmesh_executor.tasks.cancelling import stop_calls
from toolmesh_executor.tasks.conversations import earlier_messages
from toolmesh_executor.tasks.delivered import DeliveredTask
from toolmesh_executor.tasks.errors import JournalLostError
from toolmesh_executor.tasks.journal import StreamJournal, opened_journal
from toolmesh_executor.tasks.peers import PeerTask
from toolmesh_executor.tasks.sending import TaskSender
from toolmesh_executor.tasks.waiting import due_at_ms, overdue_answers, waits
from toolmesh_telemetry.logs import get_logger

__all__ = ["OneTask", "Settled"]

_MOST_IN_VAIN: Final = 50

_log: Final = get_logger(__name__)


class Settled(Enum):
    """What becomes of the message."""

    DONE = "done"
    """Nothing is left to do for it."""
    KEPT = "kept"
    """Another executor has it, too, and settles it."""
    AGAIN = "again"
    """The task was taken over meanwhile: it has to come again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OneTask:
    """Works on one delivery.

    Attributes:
        delivered: What it says.
        message: Its sequence in the queue.
        executor: Who we are.
        loops: Makes the agents' loops.
        broker: Where the task's events are.
    """

    delivered: DeliveredTask
    message: int
    executor: str
    loops: AgentLoops
    broker: JetStreamBroker

    async def work(self) -> Settled:
        """Do what the message asks for.

        Raises:
            BrokerError: the broker can't be asked; the message is to come again.
            MalformedMessageError: the task's records can't be read.
        """
        task = self.delivered.task
        async with opened_journal(self.broker.events(), task.id, self.executor, owns=True) as journal:
            try:
                if not await self._is_ours(journal):
                    return Settled.DONE
                await self._begin(journal)
                if journal.state.ended is None:
                    await self._run(journal)
            except JournalLostError:
                if journal.state.ended is None:
                    return self._left(journal)
            await self._afterwards(journal)
        return Settled.DONE

    def _left(self, journal: StreamJournal) -> Settled:
        """Return what becomes of the message, now that another executor has the task."""
        answer = self.delivered.task.answer
        if answer is not None and answer.call in journal.state.questions:
            return Settled.AGAIN
        return Settled.KEPT if journal.state.message == self.message else Settled.DONE

    # -- whose it is

    async def _is_ours(self, journal: StreamJournal) -> bool:
        """Tell whether this message is to set the task going; take in the answer that it may bring."""
        state, task = journal.state, self.delivered.task
        if state.started is None:
            return await self._is_first(journal)
        if state.started.user != self.delivered.claims.subject or state.started.agent != task.agent:
            _log.warning("a message about another user's task was dropped", task=task.id)
            return False
        if state.ended is not None:
            await self._afterwards(journal)
            return False
        if task.answer is not None and task.answer.call in state.questions:
            return await self._answered(journal, task.answer)
        # A task that does not wait has a message of its own, which comes again if its executor is gone.
        return waits(state) or state.message == self.message

    async def _answered(self, journal: StreamJournal, answer: Answer) -> bool:
        """Take an answer in; a task that waits is taken over first, so that this message comes again if we stop."""
        while (asked := journal.state.questions.get(answer.call)) is not None:
            if waits(journal.state) and not await journal.append_here(self._resumed()):
                continue
            answered = QuestionAnswered(
                call=asked.call,
                asks_for=asked.asks_for,
                by=self.delivered.claims.subject,
                approved=answer.approved,
                text=answer.text,
            )
            # Right here: whoever runs the task has not put it down, and sees this before it does.
            if await journal.append_here(answered):
                break
        return journal.state.message == self.message

    def _resumed(self) -> TaskResumed:
        return TaskResumed(executor=self.executor, message=self.message)

    async def _is_first(self, journal: StreamJournal) -> bool:
        task = self.delivered.task
        if journal.state.ended is not None or not task.text:
            return False
        started = TaskStarted(
            agent=task.agent,
            user=self.delivered.claims.subject,
            text=task.text,
            follows=task.follows,
            parent=task.parent,
            parent_agent=task.parent_agent,
            depth=task.depth,
            deadline_ms=task.deadline_ms,
            message=self.message,
        )
        await journal.append(started)
        return True

    # -- the run

    async def _begin(self, journal: StreamJournal) -> None:
        if not journal.holds:
            await journal.append(self._resumed())
        # One that waits is only looked after, as often as anybody wants.
        if (times := journal.state.in_vain) > _MOST_IN_VAIN and not waits(journal.state):
            message = f"the task was taken over {times} times without getting any further: it may end its executors"
            hint = "look for executors that died, in their logs; ask for less, or in another way"
            await self._fail(journal, TaskFailed(code=ErrorCode.INTERNAL_ERROR, message=message, hint=hint))
            return
        for nobody in overdue_answers(journal.state, time.time_ns() // 1_000_000):
            await journal.append(nobody)

    async def _run(self, journal: StreamJournal) -> None:
        state = journal.state
        deadline_ms = 0 if state.started is None else state.started.deadline_ms
        left_s = deadline_ms / 1000 - time.time() if deadline_ms else None
        try:
            async with asyncio.timeout(left_s) as limit:
                await self._loop(journal)
        except TimeoutError:
            if not limit.expired():
                raise
            message = "the task did not end before its deadline"
            hint = "give it more time, or ask for less"
            await self._fail(journal, TaskFailed(code=ErrorCode.DEADLINE_EXCEEDED, message=message, hint=hint))
        except (JournalLostError, BrokerUnreachableError, BrokerTimeoutError, NoRespondersError):
            raise
        except ToolmeshError as error:
            await self._fail(journal, TaskFailed(code=error.code, message=error.message, hint=error.hint))
        except Exception:  # noqa: BLE001 - a fault in one task must not end the others
            _log.exception("a task failed by a fault of the executor", task=self.delivered.task.id)
            message = "the executor failed while it ran the task; its log has the details"
            await self._fail(journal, TaskFailed(code=ErrorCode.INTERNAL_ERROR, message=message))

    async def _loop(self, journal: StreamJournal) -> None:
        started = journal.state.started
        if started is None:
            raise AssertionError("a task that runs has been started")
        asked = PeerTask(
            id=self.delivered.task.id,
            agent=started.agent,
            depth=started.depth,
            deadline_ms=started.deadline_ms,
            token=self.delivered.token,
        )
        loop = self.loops.of(asked)
        earlier = await earlier_messages(self.broker.events(), started)
        await TaskRun(journal, loop.toolbox, loop.ask, loop.settings, earlier).run()

    async def _fail(self, journal: StreamJournal, record: TaskFailed) -> None:
        state = journal.state
        await journal.append(record)
        await stop_calls(self.broker, self.loops.dispatcher.client, state, record.message)

    # -- what follows

    async def _afterwards(self, journal: StreamJournal) -> None:
        """Send word to who waits for the task, or have it looked after when its own waiting is over."""
        state, sender = journal.state, TaskSender(self.broker.tasks())
        if state.started is None:
            return
        if state.ended is None:
            wake = Task(id=self.delivered.task.id, agent=state.started.agent, wake=True)
            if due_ms := due_at_ms(state):
                await sender.wake_at(due_ms, wake, self.delivered.token)
        elif state.started.parent:
            wake = Task(id=state.started.parent, agent=state.started.parent_agent, wake=True)
            await sender.tell(wake, self.delivered.token)
