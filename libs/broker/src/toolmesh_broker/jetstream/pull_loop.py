"""Takes calls from a pool's consumers: one outstanding pull of 1 on each, over one inbox for the whole life.

nats-py's own `fetch()` leaves orphaned pulls behind and never pulls again after a reconnect (nats.py issues 986, 504).
"""

import asyncio
import contextlib
import json
import logging
import secrets
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass

from nats.aio.msg import Msg

from toolmesh_broker.errors import BrokerError
from toolmesh_broker.jetstream.ack_subject import AckSubject
from toolmesh_broker.jetstream.connection import Connection
from toolmesh_broker.jetstream.delivery import JetStreamDelivery, nak_body
from toolmesh_broker.jetstream.pull_timing import PullTiming
from toolmesh_broker.jetstream.requests import Answer
from toolmesh_broker.task_scope import task_scope

__all__ = ["PullIntake", "pulling"]

_log = logging.getLogger(__name__)

_HEARTBEAT_STATUS = "100"
_EXPIRED_STATUS = "408"
_NO_RESPONDERS_STATUS = "503"


@dataclass(slots=True)
class _Pull:
    """The state of one consumer."""

    consumer: str
    number: int = 0
    outstanding: bool = False
    sent_at: float = 0.0
    heard_at: float = 0.0
    not_before: float = 0.0


class PullIntake:
    """An async iterator of deliveries. See the port `Intake`."""

    def __init__(
        self,
        connection: Connection,
        stream: str,
        consumers: Sequence[str],
        credit: Callable[[], int],
        timing: PullTiming,
    ) -> None:
        self._connection = connection
        self._stream = stream
        self._pulls = [_Pull(consumer) for consumer in consumers]
        self._by_consumer = {pull.consumer: pull for pull in self._pulls}
        self._credit = credit
        self._timing = timing
        self._inbox = f"{connection.inbox_prefix}.p{secrets.token_hex(8)}"
        self._request = json.dumps(timing.request(1)).encode()
        self._buffer: deque[JetStreamDelivery] = deque()
        self._delivered = asyncio.Event()
        self._wake = asyncio.Event()
        self._paused = False
        self._over: BrokerError | None = None
        self._refusals_told: set[str] = set()

    @property
    def inbox(self) -> str:
        """Filter that all answers to pulls match."""
        return f"{self._inbox}.>"

    @property
    def outstanding(self) -> int:
        """How many consumers have a pull waiting at the server."""
        return sum(pull.outstanding for pull in self._pulls)

    def __aiter__(self) -> "PullIntake":
        return self

    async def __anext__(self) -> JetStreamDelivery:
        """Wait for a delivery."""
        while not self._buffer:
            if self._over is not None:
                raise self._over
            self._delivered.clear()
            await self._delivered.wait()
        self._wake.set()
        # Taken out in the caller's own step, so that its slot count and our buffer never both miss a delivery.
        return self._buffer.popleft()

    def wake(self) -> None:
        """Look at the credit again."""
        self._wake.set()

    def pause(self) -> None:
        """Ask for nothing more; hand back what still arrives."""
        self._paused = True

    def reconnected(self) -> None:
        """The server forgot all pulls with the connection."""
        for pull in self._pulls:
            pull.outstanding = False
        self._wake.set()

    async def receive(self, message: Msg) -> None:
        """Take in a delivery or a status of a pull."""
        answer = Answer.of(message)
        if answer.status:
            self._take_status(answer)
            return

        origin = AckSubject.parse(answer.reply)
        if origin is None or origin.stream != self._stream:
            return
        if (pull := self._by_consumer.get(origin.consumer)) is not None:
            pull.outstanding = False
            self._refusals_told.clear()
        if self._paused or self._free() <= 0:
            await self._hand_back(answer.reply)
            return
        self._buffer.append(JetStreamDelivery(self._connection, answer, origin, self.wake))
        self._delivered.set()
        self._wake.set()

    async def run(self) -> None:
        """Keep pulls outstanding for as long as there is credit."""
        while True:
            self._wake.clear()
            now = time.monotonic()
            self._drop_silent(now)
            if not self._paused and self._free() > 0:
                await self._ask_for_more(now)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._timing.tick_s):
                    await self._wake.wait()

    async def watch_connection(self) -> None:
        """End the iteration when the connection is closed for good."""
        try:
            await self._connection.lost()
        except BrokerError as error:
            self._over = error
            self._delivered.set()

    async def hand_back_all(self) -> None:
        """Give back what was delivered and not taken out."""
        self._paused = True
        while self._buffer:
            with contextlib.suppress(BrokerError):
                await self._buffer.popleft().nak()

    # -- internals

    def _free(self) -> int:
        return self._credit() - len(self._buffer)

    async def _ask_for_more(self, now: float) -> None:
        for pull in self._pulls:
            if pull.outstanding or now < pull.not_before:
                continue
            pull.number += 1
            try:
                await self._connection.send(
                    f"$JS.API.CONSUMER.MSG.NEXT.{self._stream}.{pull.consumer}",
                    self._request,
                    reply=f"{self._inbox}.{pull.consumer}.{pull.number}",
                )
            except BrokerError:
                return  # `reconnected` or the next tick tries again
            pull.outstanding = True
            pull.sent_at = pull.heard_at = now

    def _drop_silent(self, now: float) -> None:
        """Two missed heartbeats, or an expiry that was not told: the pull is lost."""
        for pull in self._pulls:
            silent = now - pull.heard_at > self._timing.silence_s
            overdue = now - pull.sent_at > self._timing.expires_s + self._timing.heartbeat_s
            if pull.outstanding and (silent or overdue):
                pull.outstanding = False

    def _take_status(self, answer: Answer) -> None:
        *_inbox, consumer, number = answer.subject.split(".")
        pull = self._by_consumer.get(consumer)
        if pull is None or str(pull.number) != number:
            return
        pull.heard_at = time.monotonic()
        if answer.status == _HEARTBEAT_STATUS:
            return

        pull.outstanding = False
        if answer.status != _EXPIRED_STATUS:
            pull.not_before = pull.heard_at + self._timing.refused_pause_s
            self._tell_refusal(consumer, answer)
        self._wake.set()

    def _tell_refusal(self, consumer: str, answer: Answer) -> None:
        """Log a reason once, not for every consumer and try."""
        first_line = answer.description.partition("\n")[0]
        reason = "no such stream or consumer" if answer.status == _NO_RESPONDERS_STATUS else first_line
        if reason not in self._refusals_told:
            self._refusals_told.add(reason)
            _log.warning("pull refused, trying on: %s", reason, extra={"stream": self._stream, "consumer": consumer})

    async def _hand_back(self, reply: str) -> None:
        with contextlib.suppress(BrokerError):
            await self._connection.send(reply, nak_body(0))


@contextlib.asynccontextmanager
async def pulling(
    connection: Connection,
    stream: str,
    consumers: Sequence[str],
    credit: Callable[[], int],
    timing: PullTiming | None = None,
) -> AsyncIterator[PullIntake]:
    """Pull inside the block; at its end everything not taken out goes back to the queue."""
    intake = PullIntake(connection, stream, consumers, credit, timing or PullTiming())
    async with task_scope() as group:
        subscribed = await connection.subscribe_raw(intake.inbox, intake.receive)
        forget = connection.on_reconnect(intake.reconnected)
        tasks = [group.create_task(intake.run()), group.create_task(intake.watch_connection())]
        try:
            yield intake
        finally:
            forget()
            for task in tasks:
                task.cancel()
            await intake.hand_back_all()
            await connection.drain(subscribed)
