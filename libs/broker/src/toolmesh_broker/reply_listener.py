"""The executor's side of replies: one subscription for all its calls, and a list of who waits for which.

A result is confirmed only for a call that waits here, only from the call's own pool, and only after whoever waits has
accepted it. After that, a worker that found the call unacknowledged and answers that it is lost is told that it is not.
"""

import asyncio
import contextlib
import logging
from collections import OrderedDict, deque
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final

import msgspec

from toolmesh_broker.ports import Broker, Message
from toolmesh_contracts.envelopes.reply import Confirmation, Result, Status
from toolmesh_contracts.errors import ErrorCode, ToolmeshError
from toolmesh_contracts.headers import SCHEMA
from toolmesh_contracts.subjects import ReplySubject
from toolmesh_contracts.wire import decode, encode, schema_name

__all__ = ["PendingCall", "ReceivedResult", "ReplyListener"]

_log = logging.getLogger(__name__)

_WAITING_STATUSES: Final = 256
_REMEMBERED: Final = 10_000
"""Calls with a confirmed result, of which a successor of a dead worker may not know."""
_RESULT_SCHEMA: Final = schema_name(Result)


@dataclass(slots=True, eq=False)
class ReceivedResult:
    """A call's result, which its worker keeps until it is confirmed."""

    result: Result
    _call: "PendingCall"

    async def confirm(self) -> None:
        """Tell the worker that the result is safe here; also answers every repeat of it."""
        await self._call.confirm()


class PendingCall:
    """An async iterator: statuses as they come, then the result, then the end."""

    def __init__(self, pool: str, invocation: str) -> None:
        self.pool = pool
        self.invocation = invocation
        self._attempt = 0
        self._seq = -1
        self._statuses: deque[Status] = deque(maxlen=_WAITING_STATUSES)
        self._result: ReceivedResult | None = None
        self._told = False
        self._confirmed = False
        self._unanswered: list[Message] = []
        self._signal = asyncio.Event()

    def __aiter__(self) -> "PendingCall":
        return self

    async def __anext__(self) -> Status | ReceivedResult:
        """Wait for news; bound it with a timeout of your own."""
        while True:
            if self._statuses:
                return self._statuses.popleft()
            if self._told:
                raise StopAsyncIteration
            if self._result is not None:
                self._told = True
                return self._result
            self._signal.clear()
            await self._signal.wait()

    def take_status(self, status: Status) -> None:
        """Take in a status, unless a newer one is known or the call has ended."""
        if self._result is not None or (status.attempt, status.seq) <= (self._attempt, self._seq):
            return
        self._attempt, self._seq = status.attempt, status.seq
        self._statuses.append(status)
        self._signal.set()

    def take_result(self, result: Result, message: Message) -> bool:
        """Take in a result; False if it belongs to an older attempt or differs from the one that is here."""
        if self._result is not None:
            # Of one attempt there may be two: its own, and the WORKER_LOST of a successor that could not know of it.
            if not _is_repeat(result, self._result.result):
                return False
        elif result.attempt < self._attempt:
            return False
        else:
            self._result = ReceivedResult(result, self)
        self._unanswered.append(message)
        self._signal.set()
        return True

    @property
    def confirmed(self) -> bool:
        """True once `confirm` was called."""
        return self._confirmed

    async def confirm(self) -> None:
        """Answer all copies of the result that came so far, and from now on at once."""
        self._confirmed = True
        messages, self._unanswered = self._unanswered, []
        for message in messages:
            await message.respond(_confirmation(self.invocation, accepted=True))

    async def refuse(self) -> None:
        """Answer all copies that were not confirmed: the worker stores the result instead."""
        messages, self._unanswered = self._unanswered, []
        for message in messages:
            await message.respond(_confirmation(self.invocation, accepted=False))


class ReplyListener:
    """All replies to one executor."""

    def __init__(self, broker: Broker, executor: str) -> None:
        self._subjects = broker.subjects
        self._broker = broker
        self._executor = executor
        self._waiting: dict[str, PendingCall] = {}
        self._confirmed: OrderedDict[tuple[str, str], None] = OrderedDict()

    @classmethod
    @contextlib.asynccontextmanager
    async def open(cls, broker: Broker, executor: str) -> AsyncIterator["ReplyListener"]:
        """Listen inside the block."""
        listener = cls(broker, executor)
        async with broker.subscribe(broker.subjects.replies_to(executor), listener._receive):
            yield listener

    @property
    def waiting(self) -> int:
        """How many calls wait."""
        return len(self._waiting)

    @contextlib.asynccontextmanager
    async def expect(self, pool: str, invocation: str) -> AsyncIterator[PendingCall]:
        """Wait for a call's replies inside the block; open it before the call is published.

        At its end a result that was not confirmed is refused, so that the worker stores it.
        """
        if invocation in self._waiting:
            raise ValueError(f"call {invocation} is waited for already")
        call = self._waiting[invocation] = PendingCall(pool, invocation)
        try:
            yield call
        finally:
            del self._waiting[invocation]
            if call.confirmed:
                self._remember(call)
            await call.refuse()

    async def _receive(self, message: Message) -> None:
        schema = message.headers.get(SCHEMA, "")
        try:
            place = self._subjects.parse_reply(message.subject)
            if schema == _RESULT_SCHEMA:
                await self._receive_result(place, decode(Result, message.body, schema), message)
            else:
                self._receive_status(place, decode(Status, message.body, schema))
        except (ToolmeshError, ValueError) as error:
            _log.warning("reply on %s can't be read: %s", message.subject, error)

    def _receive_status(self, place: ReplySubject, status: Status) -> None:
        call = self._find(place, status.invocation)
        if call is not None:
            call.take_status(status)

    async def _receive_result(self, place: ReplySubject, result: Result, message: Message) -> None:
        call = self._find(place, result.invocation)
        if call is None or not call.take_result(result, message):
            accepted = _is_lost(result) and self._has_confirmed(place, result.invocation)
            await message.respond(_confirmation(place.invocation, accepted=accepted))
        elif call.confirmed:
            await call.confirm()

    def _remember(self, call: PendingCall) -> None:
        self._confirmed[call.pool, call.invocation] = None
        if len(self._confirmed) > _REMEMBERED:
            self._confirmed.popitem(last=False)

    def _has_confirmed(self, place: ReplySubject, invocation: str) -> bool:
        call = self._find(place, invocation)
        return call.confirmed if call is not None else (place.pool, invocation) in self._confirmed

    def _find(self, place: ReplySubject, invocation: str) -> PendingCall | None:
        call = self._waiting.get(place.invocation)
        return call if call is not None and call.pool == place.pool and invocation == place.invocation else None


def _is_lost(result: Result) -> bool:
    """Tell whether a worker answers for a dead one, whose result it does not know."""
    return result.error is not None and result.error.code == ErrorCode.WORKER_LOST


def _is_repeat(result: Result, first: Result) -> bool:
    """Tell whether it says the same; each sending has a number of its own."""
    return msgspec.structs.replace(result, seq=first.seq) == first


def _confirmation(invocation: str, *, accepted: bool) -> bytes:
    return encode(Confirmation(invocation=invocation, accepted=accepted))
