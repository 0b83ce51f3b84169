"""Takes messages from a work queue's consumers, such as calls from a pool's, over one inbox for the whole life.

A consumer that was found empty has a parked pull of 1, which waits at the server for the next call. Where calls may be
waiting, the consumer that feeds the next free slot is chosen (`fair_turns`) and claimed from: a pull of 1 that is
answered at once. What arrives without a free slot is handed back.

nats-py's own `fetch()` leaves orphaned pulls behind and never pulls again after a reconnect (nats.py issues 986, 504).
"""

import asyncio
import contextlib
import json
import logging
import math
import secrets
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass

from nats.aio.msg import Msg

from toolmesh_broker.errors import BrokerError
from toolmesh_broker.fair_turns import FairTurns
from toolmesh_broker.jetstream.ack_subject import AckSubject
from toolmesh_broker.jetstream.connection import Connection
from toolmesh_broker.jetstream.delivery import JetStreamDelivery, nak_body
from toolmesh_broker.jetstream.pull_timing import PullTiming
from toolmesh_broker.jetstream.requests import Answer
from toolmesh_broker.ports import Delivery
from toolmesh_broker.task_scope import task_scope

__all__ = ["PullIntake", "pulling"]

_log = logging.getLogger(__name__)

_HEARTBEAT_STATUS = "100"
_EMPTY_STATUSES = frozenset({"404", "408"})
"""No messages; and a pull that expired, or whose messages others wait for."""
_NO_RESPONDERS_STATUS = "503"


@dataclass(slots=True)
class _Pull:
    """The state of one consumer."""

    consumer: str
    number: int = 0
    void: int = 0
    """Pulls up to this number are forgotten."""
    parked: int = 0
    """Number of the pull that waits at the server; 0 for none."""
    claims: int = 0
    sent_at: float = 0.0
    heard_at: float = 0.0
    not_before: float = 0.0
    empty_at: float = -math.inf

    @property
    def idle(self) -> bool:
        """Nothing is asked of it."""
        return not self.parked and not self.claims


class PullIntake:
    """An async iterator of deliveries. See the port `Intake`."""

    def __init__(
        self,
        connection: Connection,
        stream: str,
        consumers: Sequence[str],
        credit: Callable[[], int],
        timing: PullTiming,
        turns: FairTurns,
    ) -> None:
        self._connection = connection
        self._stream = stream
        self._pulls = [_Pull(consumer) for consumer in consumers]
        self._by_consumer = {pull.consumer: pull for pull in self._pulls}
        self._credit = credit
        self._timing = timing
        self._inbox = f"{connection.inbox_prefix}.p{secrets.token_hex(8)}"
        self._park_request = json.dumps(timing.request(1)).encode()
        self._claim_request = json.dumps(timing.claim()).encode()
        self._turns = turns
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
        return sum(bool(pull.parked) for pull in self._pulls)

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

    def rest(self, delivery: Delivery, seconds: float) -> None:
        """Ask the queue of a delivery for nothing for a while."""
        lane, shard = delivery.subject.split(".")[-3:-1]
        if (pull := self._by_consumer.get(f"{lane}-{shard}")) is not None:
            pull.not_before = time.monotonic() + seconds

    def reconnected(self) -> None:
        """The server forgot all pulls with the connection."""
        for pull in self._pulls:
            self._forget(pull)
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
        if (pull := self._by_consumer.get(origin.consumer)) is None:
            return
        self._refusals_told.clear()
        claimed = bool(pull.claims)
        if claimed:
            pull.claims -= 1
        pull.parked = 0
        if self._paused or self._credit() <= len(self._buffer):
            if claimed:
                self._turns.came_up_empty(pull.consumer)
            pull.empty_at = -math.inf
            await self._hand_back(answer.reply)
            return
        if claimed:
            self._turns.delivered(pull.consumer)
        if not origin.pending:
            pull.empty_at = time.monotonic()
        self._buffer.append(JetStreamDelivery(self._connection, answer, origin, self.wake))
        self._delivered.set()
        self._wake.set()

    async def run(self) -> None:
        """Keep asking for as long as there is credit."""
        while True:
            self._wake.clear()
            now = time.monotonic()
            self._drop_silent(now)
            if not self._paused:
                await self._ask_for_more(now)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._until_next_look(now)):
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

    def _until_next_look(self, now: float) -> float:
        """Seconds until the next tick, or the end of a rest that comes before it."""
        rests = (pull.not_before - now for pull in self._pulls if pull.not_before > now)
        return min((self._timing.tick_s, *rests))

    def _free(self) -> int:
        return self._credit() - len(self._buffer) - sum(pull.claims for pull in self._pulls)

    async def _ask_for_more(self, now: float) -> None:
        try:
            while self._free() > 0 and (waiting := [one.consumer for one in self._pulls if self._may_have(one, now)]):
                await self._claim(self._by_consumer[self._turns.choose(waiting)], now)
            # Without a free slot too: a call that comes is handed back, and its consumer is known to have one.
            for pull in self._pulls:
                if pull.idle and now >= pull.not_before and self._known_empty(pull, now):
                    await self._park(pull, now)
        except BrokerError:
            return  # `reconnected` or the next tick tries again

    def _may_have(self, pull: _Pull, now: float) -> bool:
        return not pull.parked and now >= pull.not_before and not self._known_empty(pull, now)

    def _known_empty(self, pull: _Pull, now: float) -> bool:
        return now - pull.empty_at < self._timing.fresh_s

    async def _claim(self, pull: _Pull, now: float) -> None:
        pull.claims += 1
        try:
            await self._send(pull, self._claim_request, now)
        except BrokerError:
            # A reconnect meanwhile has forgotten it already.
            if pull.number > pull.void:
                pull.claims -= 1
                self._turns.came_up_empty(pull.consumer)
            raise

    async def _park(self, pull: _Pull, now: float) -> None:
        pull.parked = pull.number + 1
        try:
            await self._send(pull, self._park_request, now)
        except BrokerError:
            pull.parked = 0
            raise

    async def _send(self, pull: _Pull, request: bytes, now: float) -> None:
        pull.number += 1
        pull.sent_at = pull.heard_at = now
        await self._connection.send(
            f"$JS.API.CONSUMER.MSG.NEXT.{self._stream}.{pull.consumer}",
            request,
            reply=f"{self._inbox}.{pull.consumer}.{pull.number}",
        )

    def _forget(self, pull: _Pull) -> None:
        for _ in range(pull.claims):
            self._turns.came_up_empty(pull.consumer)
        pull.claims = pull.parked = 0
        pull.void = pull.number
        pull.empty_at = -math.inf

    def _drop_silent(self, now: float) -> None:
        """Two missed heartbeats, an expiry that was not told, a claim that was not answered: the pull is lost."""
        for pull in self._pulls:
            silent = now - pull.heard_at > self._timing.silence_s
            overdue = now - pull.sent_at > self._timing.expires_s + self._timing.heartbeat_s
            unanswered = now - pull.sent_at > self._timing.claim_s
            if (pull.parked and (silent or overdue)) or (pull.claims and unanswered):
                self._forget(pull)

    def _take_status(self, answer: Answer) -> None:
        *_inbox, consumer, number = answer.subject.split(".")
        pull = self._by_consumer.get(consumer)
        if pull is None or int(number) <= pull.void:
            return
        pull.heard_at = time.monotonic()
        if answer.status == _HEARTBEAT_STATUS:
            return

        if int(number) == pull.parked:
            pull.parked = 0
        elif pull.claims:
            pull.claims -= 1
            self._turns.came_up_empty(consumer)
        if answer.status in _EMPTY_STATUSES:
            pull.empty_at = pull.heard_at
        else:
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
    turns: FairTurns | None = None,
) -> AsyncIterator[PullIntake]:
    """Pull inside the block; at its end everything not taken out goes back to the queue."""
    intake = PullIntake(connection, stream, consumers, credit, timing or PullTiming(), turns or FairTurns())
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
