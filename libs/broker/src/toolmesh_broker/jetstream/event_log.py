"""The events of tasks: append-only, one subject each, with a fence that lets only one writer go on."""

import asyncio
import base64
import contextlib
import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Final

from nats.aio.msg import Msg

from toolmesh_broker.errors import BrokerTimeoutError, BrokerUnreachableError, RevisionConflictError
from toolmesh_broker.jetstream.api import ApiError, api_request, publish_acknowledged
from toolmesh_broker.jetstream.connection import Connection
from toolmesh_broker.jetstream.stored import stored_batch
from toolmesh_broker.ports import StoredMessage
from toolmesh_contracts.headers import EXPECTED_LAST_SUBJECT_SEQUENCE, MESSAGE_ID

__all__ = ["EventLog", "LastEvent"]

_BATCH: Final = 500
_LAG_S: Final = 5.0
"""So long a server of a cluster may take until it has what its leader has."""
_LOOK_S: Final = 1.0
"""A reader looks this often for events whose announcement was lost."""
_SOON_S: Final = 0.005
_SOON_MOST_S: Final = 0.2
_NO_MESSAGE: Final = 10037


@dataclass(frozen=True, slots=True)
class LastEvent:
    """The end of a task's events.

    Attributes:
        sequence: In the stream: the fence of the next append; 0 before the first.
        body: The event; empty before the first.
        message_id: Of the append that made it.
    """

    sequence: int = 0
    body: bytes = b""
    message_id: str = ""


class EventLog:
    """The events of one namespace's tasks."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._stream = connection.subjects.event_stream()

    async def append(self, task: str, body: bytes, *, message_id: str, after: int) -> int:
        """Add an event if the task's last one still has the sequence `after`, and return its own.

        Args:
            task: The task's id.
            body: The event.
            message_id: Unique for this event of this writer: a repeat of a lost answer is no second event.
            after: Sequence of the task's last event; 0 for none.

        Raises:
            RevisionConflictError: another writer has added one.
            BrokerError: refused, or unknown whether it is kept.
        """
        headers = {MESSAGE_ID: message_id, EXPECTED_LAST_SUBJECT_SEQUENCE: str(after)}
        subject = self._connection.subjects.event(task)
        try:
            return (await publish_acknowledged(self._connection, self._stream, subject, body, headers)).sequence
        except RevisionConflictError:
            # The server compares sequences before it looks for a repeated id: the event may be ours, its answer lost.
            last = await self.last(task)
            if last.message_id != message_id:
                raise
            return last.sequence

    async def last(self, task: str) -> LastEvent:
        """Return the task's last event as the stream's leader knows it."""
        request = {"last_by_subj": self._connection.subjects.event(task)}
        try:
            answer = await api_request(self._connection, f"STREAM.MSG.GET.{self._stream}", request)
        except ApiError as error:
            if error.error_code == _NO_MESSAGE:
                return LastEvent()
            raise
        message = answer["message"]
        headers = base64.b64decode(message.get("hdrs", "")).decode()
        return LastEvent(int(message["seq"]), base64.b64decode(message.get("data", "")), _message_id(headers))

    async def read(self, task: str, after: int = 0) -> tuple[StoredMessage, ...]:
        """Return all events of a task behind a sequence, the last one that the leader knows among them.

        Raises:
            BrokerTimeoutError: a server that lags behind did not get them in time.
            BrokerError: the broker can't be asked.
        """
        last, found = (await self.last(task)).sequence, list[StoredMessage]()
        give_up = time.monotonic() + _LAG_S
        while (read := found[-1].sequence if found else after) < last:
            more = await self._batch(task, read)
            found += more
            if not more:
                if time.monotonic() > give_up:
                    raise BrokerTimeoutError(
                        f"event {last} of task {task} is stored, but a server of the cluster does not have it yet",
                        hint="check that the cluster's servers are in step",
                    )
                await asyncio.sleep(_SOON_MOST_S)
        return tuple(found)

    async def follow(self, task: str, after: int = 0) -> AsyncGenerator[StoredMessage]:
        """Yield a task's events behind a sequence as they are stored, for ever; an outage of the broker is waited out.

        Yields:
            Each event once, in order.
        """
        announced = asyncio.Event()

        async def hear(_: Msg) -> None:
            announced.set()

        subject = self._connection.subjects.event(task)
        subscription = await self._connection.subscribe_raw(subject, hear)
        try:
            pause = _LOOK_S
            while True:
                heard = announced.is_set()
                announced.clear()
                more = await self._batch_once_connected(task, after)
                for message in more:
                    after = message.sequence
                    yield message
                # It is heard of before it is stored, and some that are heard of never are.
                pause = 0.0 if more else _SOON_S if heard else min(2 * pause, _LOOK_S) if pause else _SOON_S
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(pause):
                        await announced.wait()
        finally:
            await self._connection.unsubscribe(subscription)

    async def recent(self, most: int) -> tuple[str, ...]:
        """Return the ids of the tasks that have events, the newest first; at most `most`."""
        pattern = self._connection.subjects.all_of("event")
        subjects: list[str] = []
        while True:
            request = {"subjects_filter": pattern, "offset": len(subjects)}
            info = await api_request(self._connection, f"STREAM.INFO.{self._stream}", request)
            page = info["state"].get("subjects") or {}
            subjects += page
            if not page or len(subjects) >= int(info.get("total", 0)):
                break
        return tuple(sorted((subject.rpartition(".")[2] for subject in subjects), reverse=True)[:most])

    async def _batch(self, task: str, after: int) -> tuple[StoredMessage, ...]:
        return await stored_batch(self._connection, self._stream, self._connection.subjects.event(task), after, _BATCH)

    async def _batch_once_connected(self, task: str, after: int) -> tuple[StoredMessage, ...]:
        while True:
            try:
                return await self._batch(task, after)
            except (BrokerTimeoutError, BrokerUnreachableError):
                await self._connection.until_connected(None)


def _message_id(headers: str) -> str:
    lines = (line.partition(":") for line in headers.splitlines())
    return next((value.strip() for name, _, value in lines if name == MESSAGE_ID), "")
