"""Takes a task back, with everything that it has under way."""

from typing import Final

from toolmesh_broker.errors import BrokerError
from toolmesh_broker.jetstream.broker import JetStreamBroker
from toolmesh_client.client import Client
from toolmesh_executor.loop.records import TaskCancelled, TaskFailed
from toolmesh_executor.loop.task_state import TaskState
from toolmesh_executor.tasks.errors import JournalLostError
from toolmesh_executor.tasks.journal import opened_journal
from toolmesh_telemetry.logs import get_logger

__all__ = ["end_task", "stop_calls"]

_log: Final = get_logger(__name__)


async def end_task(
    broker: JetStreamBroker, client: Client, task: str, record: TaskCancelled | TaskFailed, by: str
) -> bool:
    """End a task from outside, wherever it is: queued, running or waiting; False if it has ended before.

    Args:
        broker: Where it is.
        client: Cancels its calls.
        task: Its id.
        record: How it ends.
        by: Who ends it, for its events.

    Raises:
        BrokerError: the broker can't be asked.
    """
    async with opened_journal(broker.events(), task, by) as journal:
        if journal.state.ended is not None:
            return False
        try:
            await journal.append(record)
        except JournalLostError:
            return False
        reason = record.reason if isinstance(record, TaskCancelled) else record.message
        await broker.publish(broker.subjects.stop(task), reason.encode())
        await stop_calls(broker, client, journal.state, reason)
    return True


async def stop_calls(broker: JetStreamBroker, client: Client, state: TaskState, reason: str) -> None:
    """Cancel the calls of a task that has ended, and the tasks that it gave to other agents."""
    for started in state.begun.values():
        try:
            if started.remote is not None:
                await client.cancel(started.remote, reason)
            if started.peer is not None:
                await end_task(broker, client, started.peer.task, TaskCancelled(reason=reason), "")
        except BrokerError as error:
            _log.warning("a call of an ended task goes on", call=started.call, tool=started.tool, reason=error.message)
