"""The worker's side of replies: statuses that may be merged or lost, and one result that asks to be confirmed."""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator
from typing import Final

import msgspec

from toolmesh_broker.errors import BrokerError, BrokerTimeoutError, NoRespondersError
from toolmesh_broker.ports import Broker
from toolmesh_broker.task_scope import task_scope
from toolmesh_contracts.envelopes.reply import Confirmation, Result, Status, StatusState
from toolmesh_contracts.errors import ToolmeshError
from toolmesh_contracts.headers import SCHEMA
from toolmesh_contracts.wire import decode, encode, schema_name

__all__ = ["ReplySender", "replying"]

_log = logging.getLogger(__name__)

_STATUS_INTERVAL_S: Final = 0.1
_MAX_STATUS_CHARACTERS: Final = 4096
_STATUS_HEADERS: Final = {SCHEMA: schema_name(Status)}
_RESULT_HEADERS: Final = {SCHEMA: schema_name(Result)}


class ReplySender:
    """Replies to one attempt of one call, in order: sequence numbers count up, the result comes last."""

    def __init__(self, broker: Broker, pool: str, executor: str, invocation: str, attempt: int, worker: str) -> None:
        self._broker = broker
        self._subject = broker.subjects.reply(pool, executor, invocation)
        self._invocation = invocation
        self._attempt = attempt
        self._worker = worker
        self._seq = 0
        self._latest: tuple[StatusState, str, float | None, int] | None = None
        self._news = asyncio.Event()

    def status(self, state: StatusState, text: str = "", progress: float | None = None) -> None:
        """Tell the caller; only the latest of what can't be sent at once is kept, at most 10 go out a second."""
        self._latest = (state, text[:_MAX_STATUS_CHARACTERS], progress, int(time.time() * 1000))
        self._news.set()

    async def result(self, result: Result, *, timeout_s: float) -> bool:
        """Send the result, after the last status; True if the executor has confirmed that it is safe.

        Raises:
            BrokerUnreachableError: there is no connection.
            PayloadTooLargeError: put large data behind a claim check first.
        """
        await self._flush()
        self._seq += 1
        numbered = msgspec.structs.replace(result, seq=self._seq)
        try:
            answer = await self._broker.request(self._subject, encode(numbered), timeout_s, _RESULT_HEADERS)
            confirmation = decode(Confirmation, answer.body)
        except (NoRespondersError, BrokerTimeoutError) as error:
            _log.debug("result of %s not confirmed: %s", self._invocation, error)
            return False
        except ToolmeshError as error:
            if isinstance(error, BrokerError):
                raise
            _log.warning("answer to the result of %s can't be read: %s", self._invocation, error)
            return False
        return confirmation.accepted and confirmation.invocation == self._invocation

    async def send_statuses(self) -> None:
        """Send what `status` leaves, until cancelled."""
        while True:
            await self._news.wait()
            await self._flush()
            await asyncio.sleep(_STATUS_INTERVAL_S)

    async def _flush(self) -> None:
        self._news.clear()
        if self._latest is None:
            return
        (state, text, progress, at_ms), self._latest = self._latest, None
        self._seq += 1
        status = Status(
            invocation=self._invocation,
            attempt=self._attempt,
            seq=self._seq,
            state=state,
            worker=self._worker,
            text=text,
            progress=progress,
            at_ms=at_ms,
        )
        with contextlib.suppress(BrokerError):  # a status may be lost
            await self._broker.publish(self._subject, encode(status), _STATUS_HEADERS)


@contextlib.asynccontextmanager
async def replying(
    broker: Broker, *, pool: str, executor: str, invocation: str, attempt: int, worker: str
) -> AsyncIterator[ReplySender]:
    """Open the replies of one attempt."""
    sender = ReplySender(broker, pool, executor, invocation, attempt, worker)
    async with task_scope() as group:
        task = group.create_task(sender.send_statuses())
        try:
            yield sender
        finally:
            task.cancel()
