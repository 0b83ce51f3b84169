"""Puts tasks, and what wakes them, into the queue."""

import time
from typing import Final

from toolmesh_broker.jetstream.task_queue import TaskQueue
from toolmesh_contracts.envelopes.task import Task
from toolmesh_contracts.headers import SCHEMA, TASK, TOKEN
from toolmesh_contracts.ids import new_uuid7
from toolmesh_contracts.wire import encode, schema_name

__all__ = ["TaskSender"]

_AFTERWARDS_MS: Final = 500
"""What is due at a time is due when its message comes."""


class TaskSender:
    """Sends for one connection."""

    def __init__(self, queue: TaskQueue) -> None:
        self._queue = queue

    async def start(self, task: Task, token: str) -> None:
        """Queue a task; again with the same id, it is queued once.

        Raises:
            BrokerError: refused, or unknown whether it is queued.
        """
        await self._queue.publish(task.agent, encode(task), _headers(task, token), message_id=f"{task.id}.start")

    async def tell(self, task: Task, token: str) -> None:
        """Queue an answer for a task that waits, or that it should look again.

        Raises:
            BrokerError: refused, or unknown whether it is queued.
        """
        await self._queue.publish(task.agent, encode(task), _headers(task, token), message_id=new_uuid7())

    async def wake_at(self, when_ms: int, task: Task, token: str) -> None:
        """Have a task that waits look again at a time; each further time replaces the one before.

        Raises:
            BrokerError: refused, or unknown whether it is kept.
        """
        when_ms = max(when_ms, time.time_ns() // 1_000_000) + _AFTERWARDS_MS
        await self._queue.publish_at(
            when_ms, task.id, task.agent, encode(task), _headers(task, token), message_id=new_uuid7()
        )


def _headers(task: Task, token: str) -> dict[str, str]:
    return {SCHEMA: schema_name(Task), TASK: task.id, TOKEN: token}
