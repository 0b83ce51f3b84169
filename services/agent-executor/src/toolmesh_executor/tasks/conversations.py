"""What was said before a task, in the tasks that it follows."""

from typing import Final

from toolmesh_broker.jetstream.event_log import EventLog
from toolmesh_executor.loop.conversation import conversation
from toolmesh_executor.loop.records import TaskStarted
from toolmesh_executor.loop.task_state import TaskState
from toolmesh_executor.models.turns import Message
from toolmesh_executor.tasks.journal import opened_journal

__all__ = ["earlier_messages"]

_MOST_TASKS: Final = 50
"""Of a longer conversation, the older ones are left out."""


async def earlier_messages(log: EventLog, started: TaskStarted) -> tuple[Message, ...]:
    """Return the messages of the tasks before one: of the same agent and user, the oldest first.

    Raises:
        MalformedMessageError: a record can't be read.
        BrokerError: the broker can't be asked.
    """
    states: list[TaskState] = []
    follows = started.follows
    while follows and len(states) < _MOST_TASKS:
        async with opened_journal(log, follows, "") as journal:
            state = journal.state
        # Whose conversation it is decides, not who knows its id.
        if state.started is None or (state.started.agent, state.started.user) != (started.agent, started.user):
            break
        states.append(state)
        follows = state.started.follows
    messages: tuple[Message, ...] = ()
    for state in reversed(states):
        # A summary in one of them stands for what was said before it, too.
        messages = conversation(state, messages)
    return messages
