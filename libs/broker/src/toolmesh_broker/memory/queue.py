"""A pool's work queue in memory: redelivery, negative acknowledgement with delay, limits and expiry."""

import asyncio
from collections import deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from toolmesh_broker.errors import QueueFullError
from toolmesh_broker.fair_turns import FairTurns
from toolmesh_broker.memory.timers import Timers
from toolmesh_broker.ports import Delivery, PublishReceipt

__all__ = ["MemoryDelivery", "MemoryIntake", "PoolQueue"]


@dataclass(slots=True, eq=False)
class _Queued:
    subject: str
    headers: Mapping[str, str]
    body: bytes
    sequence: int
    delivered: int = 0
    waiting: bool = True
    """In the queue, neither with a worker nor delayed."""
    redelivery: asyncio.TimerHandle | None = None
    expiry: asyncio.TimerHandle | None = field(default=None, repr=False)


class MemoryDelivery:
    """See the port `Delivery`."""

    def __init__(self, queue: "PoolQueue", queued: _Queued, settled: Callable[[], None]) -> None:
        self._queue = queue
        self._queued = queued
        self._settled = settled
        self.subject = queued.subject
        self.headers = queued.headers
        self.body = queued.body
        self.stream = queue.stream
        self.sequence = queued.sequence
        self.delivered = queued.delivered

    async def ack(self) -> None:
        """Settle it."""
        self._queue.remove(self._queued)
        self._settled()

    async def nak(self, delay_s: float = 0.0) -> None:
        """Hand it back."""
        self._queue.hand_back(self._queued, delay_s)
        self._settled()

    async def term(self, reason: str) -> None:
        """Settle it for good without success."""
        self._queue.remove(self._queued)
        self._settled()

    async def in_progress(self) -> None:
        """Start ack_wait anew."""
        self._queue.renew(self._queued)


class MemoryIntake:
    """See the port `Intake`."""

    def __init__(self, queue: "PoolQueue", credit: Callable[[], int]) -> None:
        self._queue = queue
        self._credit = credit
        self._buffer: deque[_Queued] = deque()
        self._signal = asyncio.Event()
        self._paused = False
        self._turns = FairTurns()

    @property
    def free(self) -> int:
        """How many deliveries it takes now."""
        return 0 if self._paused else self._credit() - len(self._buffer)

    def give(self, queued: _Queued) -> None:
        """Deliver a message."""
        self._buffer.append(queued)
        self._signal.set()

    def __aiter__(self) -> "MemoryIntake":
        return self

    async def __anext__(self) -> MemoryDelivery:
        """Wait for a delivery."""
        while not self._buffer:
            self._queue.dispatch()
            if self._buffer:
                break
            self._signal.clear()
            await self._signal.wait()
        return MemoryDelivery(self._queue, self._buffer.popleft(), self.wake)

    def wake(self) -> None:
        """Look at the credit again."""
        # Later, so that the caller's slot count is up to date.
        asyncio.get_running_loop().call_soon(self._queue.dispatch)

    def rest(self, delivery: Delivery, seconds: float) -> None:
        """Do nothing: asking in memory costs nothing."""

    def choose(self, waiting: Collection[str]) -> str:
        """Return the lane and shard whose turn it is."""
        chosen = self._turns.choose(waiting)
        self._turns.delivered(chosen)
        return chosen

    def pause(self) -> None:
        """Take nothing more."""
        self._paused = True

    def hand_back_all(self) -> None:
        """Give back what was not taken out."""
        self._paused = True
        while self._buffer:
            self._queue.hand_back(self._buffer.popleft(), 0.0)


class PoolQueue:
    """Messages in order, and who takes them."""

    def __init__(self, stream: str, timers: Timers, ack_wait_s: float, max_per_subject: int) -> None:
        self.stream = stream
        self._timers = timers
        self._ack_wait_s = ack_wait_s
        self._max_per_subject = max_per_subject
        self._messages: dict[int, _Queued] = {}
        self._last_sequence = 0
        self._intakes: deque[MemoryIntake] = deque()

    def __len__(self) -> int:
        return len(self._messages)

    def put(self, subject: str, headers: Mapping[str, str], body: bytes, ttl_s: float) -> PublishReceipt:
        """Add a message.

        Raises:
            QueueFullError: its subject has as many as are allowed.
        """
        if sum(queued.subject == subject for queued in self._messages.values()) >= self._max_per_subject:
            raise QueueFullError(f"the queue of {subject} is full", hint="try again later, or start more workers")

        self._last_sequence += 1
        queued = _Queued(subject, headers, body, self._last_sequence)
        queued.expiry = self._timers.after(ttl_s, lambda: self.remove(queued))
        self._messages[queued.sequence] = queued
        self.dispatch()
        return PublishReceipt(self.stream, queued.sequence)

    def delete(self, sequence: int) -> bool:
        """Remove a message by its sequence; False if it is gone."""
        queued = self._messages.get(sequence)
        if queued is None:
            return False
        self.remove(queued)
        return True

    def attach(self, intake: MemoryIntake) -> None:
        """Let an intake take part."""
        self._intakes.append(intake)
        self.dispatch()

    def detach(self, intake: MemoryIntake) -> None:
        """End an intake's part."""
        self._intakes.remove(intake)
        intake.hand_back_all()

    def dispatch(self) -> None:
        """Give waiting messages to intakes with credit, in turn; each chooses from which lane and shard."""
        waiting: dict[str, deque[_Queued]] = {}
        for queued in self._messages.values():
            if queued.waiting:
                lane, shard = queued.subject.split(".")[-3:-1]
                waiting.setdefault(f"{lane}-{shard}", deque()).append(queued)
        while waiting:
            intake = next((one for one in self._intakes if one.free > 0), None)
            if intake is None:
                return
            self._intakes.remove(intake)
            self._intakes.append(intake)
            chosen = intake.choose(waiting)
            self._give(waiting[chosen].popleft(), intake)
            if not waiting[chosen]:
                del waiting[chosen]

    def _give(self, queued: _Queued, intake: MemoryIntake) -> None:
        queued.waiting = False
        queued.delivered += 1
        self.renew(queued)
        intake.give(queued)

    def renew(self, queued: _Queued) -> None:
        """Start the message's ack_wait anew."""
        if queued.sequence in self._messages and not queued.waiting:
            self._timers.cancel(queued.redelivery)
            queued.redelivery = self._timers.after(self._ack_wait_s, lambda: self._return(queued))

    def hand_back(self, queued: _Queued, delay_s: float) -> None:
        """Deliver the message again after a delay."""
        if queued.sequence not in self._messages or queued.waiting:
            return
        self._timers.cancel(queued.redelivery)
        if delay_s > 0:
            queued.redelivery = self._timers.after(delay_s, lambda: self._return(queued))
        else:
            self._return(queued)

    def remove(self, queued: _Queued) -> None:
        """Take the message out of the queue."""
        self._messages.pop(queued.sequence, None)
        self._timers.cancel(queued.redelivery)
        self._timers.cancel(queued.expiry)

    def _return(self, queued: _Queued) -> None:
        queued.redelivery = None
        queued.waiting = True
        self.dispatch()
