"""The queue of tasks: one durable consumer for each agent, made by whoever runs that agent."""

import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from toolmesh_broker.fair_turns import FairTurns
from toolmesh_broker.jetstream.api import api_request, publish_acknowledged
from toolmesh_broker.jetstream.connection import Connection
from toolmesh_broker.jetstream.pull_loop import PullIntake, pulling
from toolmesh_broker.ports import PublishReceipt
from toolmesh_contracts.headers import MESSAGE_ID
from toolmesh_contracts.names import Lane, token

__all__ = ["TASK_ACK_WAIT_S", "TaskQueue"]

TASK_ACK_WAIT_S: Final = 10.0
"""Silence of an executor after which its tasks go to another one."""
_MOST_RUNNING: Final = 10_000
"""Tasks of one agent at a time, on all executors."""
_NANOSECONDS: Final = 1_000_000_000
_SCHEDULE: Final = "Nats-Schedule"
_SCHEDULE_TARGET: Final = "Nats-Schedule-Target"
_ROLLUP: Final = "Nats-Rollup"


class TaskQueue:
    """The tasks of one namespace that wait for an executor."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._stream = connection.subjects.task_stream()

    async def publish(self, agent: str, body: bytes, headers: Mapping[str, str], *, message_id: str) -> PublishReceipt:
        """Queue work for an agent; a second one of the same id is dropped for some minutes.

        Raises:
            BrokerError: refused, or unknown whether it is queued.
        """
        complete = {**headers, MESSAGE_ID: message_id}
        return await publish_acknowledged(
            self._connection, self._stream, self._connection.subjects.task(agent), body, complete
        )

    async def publish_at(
        self, when_ms: int, schedule: str, agent: str, body: bytes, headers: Mapping[str, str], *, message_id: str
    ) -> PublishReceipt:
        """Have the broker queue work for an agent later (ADR-51); another one of the same schedule replaces it.

        Args:
            when_ms: Unix time in milliseconds.
            schedule: Id of the schedule.
            agent: Whose work it is.
            body: The work.
            headers: Its headers.
            message_id: Unique for this write.

        Raises:
            BrokerError: refused, or unknown whether it is kept.
        """
        at = datetime.fromtimestamp(when_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        complete = {
            **headers,
            MESSAGE_ID: message_id,
            _SCHEDULE: f"@at {at}",
            _SCHEDULE_TARGET: self._connection.subjects.task(agent),
            _ROLLUP: "sub",
        }
        return await publish_acknowledged(
            self._connection, self._stream, self._connection.subjects.schedule(schedule), body, complete
        )

    @contextlib.asynccontextmanager
    async def consume(self, agents: Sequence[str], credit: Callable[[], int]) -> AsyncIterator[PullIntake]:
        """Take tasks of these agents while `credit()` is above 0.

        On leaving, what was not handed out goes back to the queue at once.
        """
        consumers = [token(agent) for agent in agents]
        for agent, name in zip(agents, consumers, strict=True):
            await self._ensure_consumer(agent, name)
        turns = FairTurns(lane_of=_one_lane)
        async with pulling(self._connection, self._stream, consumers, credit, turns=turns) as intake:
            yield intake

    async def _ensure_consumer(self, agent: str, name: str) -> None:
        subject = self._connection.subjects.task(agent)
        config: dict[str, Any] = {
            "name": name,
            "durable_name": name,
            "filter_subject": subject,
            "ack_policy": "explicit",
            "deliver_policy": "all",
            "replay_policy": "instant",
            "ack_wait": int(TASK_ACK_WAIT_S * _NANOSECONDS),
            "max_deliver": -1,
            "max_ack_pending": _MOST_RUNNING,
            "max_waiting": 2048,
        }
        request = {"stream_name": self._stream, "config": config}
        await api_request(self._connection, f"CONSUMER.CREATE.{self._stream}.{name}.{subject}", request)


def _one_lane(_: str) -> Lane:
    return Lane.NORMAL
