"""Takes tasks out of the queue and runs them side by side, for as long as the executor lives."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Final

from toolmesh_broker.errors import BrokerError
from toolmesh_broker.jetstream.broker import JetStreamBroker
from toolmesh_broker.jetstream.task_queue import TASK_ACK_WAIT_S
from toolmesh_broker.ports import Delivery, Message
from toolmesh_broker.task_scope import task_scope
from toolmesh_contracts.errors import ToolmeshError
from toolmesh_executor.agent_loops import AgentLoops
from toolmesh_executor.dispatch import TokenVerifier
from toolmesh_executor.loop.records import TaskFailed
from toolmesh_executor.tasks.cancelling import stop_calls
from toolmesh_executor.tasks.delivered import NotAcceptedError, read_delivery
from toolmesh_executor.tasks.errors import JournalLostError
from toolmesh_executor.tasks.journal import opened_journal
from toolmesh_executor.tasks.one_task import OneTask, Settled
from toolmesh_telemetry.logs import get_logger

__all__ = ["TaskRunner", "running_tasks"]

_log: Final = get_logger(__name__)
_BEAT_S: Final = TASK_ACK_WAIT_S / 4
_AGAIN_S: Final = 1.0
"""Before a message that could not be worked on comes again."""
_ELSEWHERE_S: Final = 30.0
"""Before one comes again that another executor has to work on."""


class TaskRunner:
    """The tasks that one executor runs; made by `running_tasks`."""

    def __init__(
        self, broker: JetStreamBroker, loops: AgentLoops, verifier: TokenVerifier, executor: str, most: int
    ) -> None:
        self._broker = broker
        self._loops = loops
        self._verifier = verifier
        self._executor = executor
        self._most = most
        self._running: dict[str, set[asyncio.Task[Settled]]] = {}
        self._count = 0
        self._agents = sorted(loops.configs)
        self._changed = asyncio.Event()

    @property
    def running(self) -> int:
        """How many tasks run now."""
        return self._count

    def serve(self, agents: Iterable[str]) -> None:
        """Take tasks of these agents, and of no others, from now on; those that run go on."""
        wanted = sorted(agents)
        if wanted != self._agents:
            self._agents = wanted
            self._changed.set()

    async def pull(self) -> None:
        """Take tasks for ever; what runs when this is cancelled goes to another executor."""
        async with task_scope() as running:
            while True:
                self._changed.clear()
                pulling = running.create_task(self._pull(self._agents, running))
                await self._changed.wait()
                pulling.cancel()
                await asyncio.wait({pulling})

    async def _pull(self, agents: Sequence[str], running: asyncio.TaskGroup) -> None:
        async with self._broker.tasks().consume(agents, lambda: self._most - self._count) as intake:
            async for delivery in intake:
                self._count += 1
                running.create_task(self._hold(delivery, intake.wake))

    async def stop(self, message: Message) -> None:
        """Hear that a task has ended by another's hand."""
        for run in self._running.get(message.subject.rpartition(".")[2], ()):
            run.cancel()

    async def _hold(self, delivery: Delivery, wake: Callable[[], None]) -> None:
        try:
            async with task_scope() as group:
                beating = group.create_task(_beat(delivery))
                try:
                    await self._handle(delivery)
                finally:
                    beating.cancel()
        finally:
            self._count -= 1
            wake()

    async def _handle(self, delivery: Delivery) -> None:
        try:
            delivered = read_delivery(delivery, self._verifier)
        except NotAcceptedError as error:
            await self._refuse(delivery, error)
            return
        one = OneTask(
            delivered=delivered,
            message=delivery.sequence,
            executor=self._executor,
            loops=self._loops,
            broker=self._broker,
        )
        try:
            settled = await self._stoppable(delivered.task.id, one)
            match settled:
                case Settled.DONE:
                    await delivery.ack()
                case Settled.AGAIN:
                    await _hand_back(delivery, _AGAIN_S)
        except asyncio.CancelledError:
            await _hand_back(delivery, 0.0)
            raise
        except BrokerError as error:
            _log.warning("a task comes again", task=delivered.task.id, reason=error.message)
            await _hand_back(delivery, _AGAIN_S)
        except ToolmeshError as error:
            # Records that can't be read may be those of a newer executor, which then is the one to go on.
            _log.error("a task can't be gone on with here", task=delivered.task.id, reason=str(error))
            await _hand_back(delivery, _ELSEWHERE_S)
        except Exception:  # noqa: BLE001 - a fault in one task must not end the others
            _log.exception("a task comes again after a fault of the executor", task=delivered.task.id)
            await _hand_back(delivery, _AGAIN_S)

    async def _stoppable(self, task: str, one: OneTask) -> Settled:
        run = asyncio.create_task(one.work())
        runs = self._running.setdefault(task, set())
        runs.add(run)
        try:
            return await run
        except asyncio.CancelledError:
            own = asyncio.current_task()
            if own is not None and own.cancelling():
                raise
            # The task has ended by another's hand: what is left is to send word of it.
            return await one.work()
        finally:
            runs.discard(run)
            if not runs:
                self._running.pop(task, None)

    async def _refuse(self, delivery: Delivery, error: NotAcceptedError) -> None:
        """Tell it in the events of a task that hangs on this message: nobody ends another's task by a bad token."""
        _log.warning("a task was refused", task=error.task, code=error.code, reason=error.message)
        try:
            if error.task:
                await self._end_refused(error, delivery.sequence)
            await delivery.term(error.message)
        except ToolmeshError as failure:
            _log.warning("a refused task comes again", task=error.task, reason=failure.message)

    async def _end_refused(self, error: NotAcceptedError, message: int) -> None:
        record = TaskFailed(code=error.code, message=error.message, hint=error.hint)
        async with opened_journal(self._broker.events(), error.task, self._executor) as journal:
            # Its token may have expired while its executor was gone.
            if journal.number == 0 or journal.state.message == message:
                with contextlib.suppress(JournalLostError):
                    await journal.append(record)
                    await stop_calls(self._broker, self._loops.dispatcher.client, journal.state, error.message)


async def _beat(delivery: Delivery) -> None:
    while True:
        await asyncio.sleep(_BEAT_S)
        with contextlib.suppress(BrokerError):
            await delivery.in_progress()


async def _hand_back(delivery: Delivery, delay_s: float) -> None:
    with contextlib.suppress(BrokerError):
        await delivery.nak(delay_s)


@asynccontextmanager
async def running_tasks(
    broker: JetStreamBroker,
    loops: AgentLoops,
    verifier: TokenVerifier,
    executor: str,
    most: int,
) -> AsyncIterator[TaskRunner]:
    """Run tasks of the agents that there are loops for inside the block; at its end others go on with them.

    Args:
        broker: Where they are queued.
        loops: Makes the agents' loops.
        verifier: Whose tokens are believed.
        executor: Who we are.
        most: Tasks at a time.

    Raises:
        BrokerError: the queue can't be used.
    """
    runner = TaskRunner(broker, loops, verifier, executor, most)
    async with broker.subscribe(broker.subjects.stops(), runner.stop), task_scope() as group:
        pulling = group.create_task(runner.pull())
        try:
            yield runner
        finally:
            pulling.cancel()
