"""Every message between a process and the broker, in flight until the test delivers or loses it.

A message that was sent is out of its sender's hands: it may arrive long after the sender gave up or died.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn, Protocol, TypeVar

from toolmesh_broker.errors import BrokerTimeoutError
from toolmesh_broker.memory.broker import MemoryBroker
from toolmesh_broker.memory.hub import MemoryHub
from toolmesh_broker.ports import (
    Delivery,
    Entry,
    Handler,
    Intake,
    KeyValue,
    Message,
    OutgoingInvocation,
    PublishReceipt,
)
from toolmesh_contracts.headers import MESSAGE_ID

__all__ = ["InFlight", "Network", "NetworkBroker", "Site", "Witness"]

_ANSWER_S: Final = 15.0
"""As long as the real adapter goes on trying."""
T = TypeVar("T")


@dataclass(eq=False)
class Site:
    """A process: what it sends no longer counts once it is dead."""

    name: str
    dead: bool = False
    tasks: set["asyncio.Task[Any]"] = field(default_factory=set)

    def kill(self) -> None:
        """End it as kill -9 does: nothing of it goes on; what it has sent stays sent."""
        self.dead = True
        for task in list(self.tasks):
            task.cancel()


@dataclass(eq=False)
class InFlight:
    """One message: `step` is its name in the protocol, `act` what the broker does with it."""

    site: Site
    step: str
    act: Callable[[], Awaitable[Any]]
    answer: "asyncio.Future[Any] | None" = None

    def __str__(self) -> str:
        return f"{self.site.name}: {self.step}"


class Witness(Protocol):
    """Sees calls enter and leave the queue."""

    def accepted(self, call: OutgoingInvocation) -> None:
        """The queue has the call."""

    async def left(self, invocation: str) -> None:
        """The call leaves the queue now."""


class Network:
    """Holds what is in flight."""

    def __init__(self) -> None:
        self.in_flight: list[InFlight] = []
        self.delivered: dict[str, int] = {}
        """How often each step was delivered."""
        self._acts: set[asyncio.Task[None]] = set()

    async def send(self, site: Site, step: str, act: Callable[[], Awaitable[T]], timeout_s: float = _ANSWER_S) -> T:
        """Send a message and wait for the broker's answer; BrokerTimeoutError without one."""
        if site.dead:
            raise asyncio.CancelledError
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self.in_flight.append(InFlight(site, step, act, answer))
        try:
            async with asyncio.timeout(timeout_s):
                return await answer
        except TimeoutError:
            raise BrokerTimeoutError(f"no answer to {step}") from None

    def post(self, site: Site, step: str, act: Callable[[], Awaitable[Any]]) -> None:
        """Send a message that nobody waits for."""
        if site.dead:
            raise asyncio.CancelledError
        self.in_flight.append(InFlight(site, step, act))

    def deliver(self, message: InFlight, loop: asyncio.AbstractEventLoop, *, answered: bool = True) -> None:
        """Let the broker have a message; without `answered` its sender never hears of it."""
        self.in_flight.remove(message)
        self.delivered[message.step] = self.delivered.get(message.step, 0) + 1

        waiting = message.answer if answered else None

        async def act() -> None:
            try:
                value = await message.act()
            except Exception as error:  # noqa: BLE001 - what the broker refuses is told to the sender
                if waiting is not None and not waiting.done():
                    waiting.set_exception(error)
            else:
                if waiting is not None and not waiting.done():
                    waiting.set_result(value)

        task = loop.create_task(act())
        self._acts.add(task)
        task.add_done_callback(self._acts.discard)

    def lose(self, message: InFlight) -> None:
        """Let a message vanish."""
        self.in_flight.remove(message)


@dataclass(eq=False)
class _NetworkKeyValue:
    """A bucket behind the network; watches are not steps of a call and go straight through."""

    broker: "NetworkBroker"
    name: str
    bucket: KeyValue

    async def get(self, key: str) -> Entry | None:
        return await self.broker.send(f"{self.name} read", lambda: self.bucket.get(key))

    async def create(self, key: str, value: bytes, ttl_s: float | None = None) -> int:
        return await self.broker.send(f"{self.name} create", lambda: self.bucket.create(key, value, ttl_s))

    async def update(self, key: str, value: bytes, revision: int, ttl_s: float | None = None) -> int:
        return await self.broker.send(f"{self.name} update", lambda: self.bucket.update(key, value, revision, ttl_s))

    async def put(self, key: str, value: bytes, ttl_s: float | None = None) -> int:
        return await self.broker.send(f"{self.name} put", lambda: self.bucket.put(key, value, ttl_s))

    async def delete(self, key: str, revision: int | None = None) -> None:
        await self.broker.send(f"{self.name} delete", lambda: self.bucket.delete(key, revision))

    async def keys(self, pattern: str = ">") -> list[str]:
        return await self.bucket.keys(pattern)

    def watch(self, pattern: str = ">") -> Any:
        return self.bucket.watch(pattern)


@dataclass(eq=False)
class _NetworkDelivery:
    broker: "NetworkBroker"
    inner: Delivery

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    async def ack(self) -> None:
        async def acknowledged() -> None:
            await self.broker.witness.left(self.inner.headers[MESSAGE_ID])
            await self.inner.ack()

        await self.broker.send("ack", acknowledged)

    async def nak(self, delay_s: float = 0.0) -> None:
        await self.broker.send("nak", lambda: self.inner.nak(delay_s))

    async def term(self, reason: str) -> None:
        async def terminated() -> None:
            await self.broker.witness.left(self.inner.headers[MESSAGE_ID])
            await self.inner.term(reason)

        await self.broker.send("term", terminated)

    async def in_progress(self) -> None:
        await self.broker.send("in progress", self.inner.in_progress, 2.0)


@dataclass(eq=False)
class _NetworkIntake:
    broker: "NetworkBroker"
    inner: Intake

    def __aiter__(self) -> "_NetworkIntake":
        return self

    async def __anext__(self) -> Any:
        while True:
            delivery = await anext(self.inner)
            try:
                await self.broker.send("pull", _nothing)
            except BrokerTimeoutError:
                continue  # it never arrived, and comes again after ack_wait
            return _NetworkDelivery(self.broker, delivery)

    def wake(self) -> None:
        self.inner.wake()

    def rest(self, delivery: Delivery, seconds: float) -> None:
        self.inner.rest(delivery, seconds)

    def pause(self) -> None:
        self.inner.pause()


class NetworkBroker(MemoryBroker):
    """One process's connection to the in-memory twin, each operation a message of the network.

    Args:
        hub: The twin.
        network: Where messages wait.
        site: Whose connection it is.
        witness: Sees what the broker takes.
    """

    def __init__(self, hub: MemoryHub, network: Network, site: Site, witness: Witness) -> None:
        super().__init__(hub, site.name)
        self._network = network
        self._site = site
        self.witness = witness

    async def send(self, step: str, act: Callable[[], Awaitable[T]], timeout_s: float = _ANSWER_S) -> T:
        """Send one message."""
        return await self._network.send(self._site, step, act, timeout_s)

    async def publish_invocation(self, call: OutgoingInvocation) -> PublishReceipt:
        """Queue a call."""
        publish = super().publish_invocation

        async def accepted() -> PublishReceipt:
            receipt = await publish(call)
            self.witness.accepted(call)
            return receipt

        return await self.send("publish", accepted)

    async def delete_invocation(self, receipt: PublishReceipt) -> bool:
        """Withdraw a call."""
        delete = super().delete_invocation
        return await self.send("withdraw", lambda: delete(receipt))

    async def append(self, stream: str, subject: str, body: bytes, **more: Any) -> PublishReceipt:
        """Store a message."""
        append = super().append
        return await self.send("dead letter", lambda: append(stream, subject, body, **more))

    @contextlib.asynccontextmanager
    async def consume(self, pool: str, credit: Callable[[], int]) -> AsyncIterator[Any]:
        """Take calls."""
        async with super().consume(pool, credit) as intake:
            yield _NetworkIntake(self, intake)

    def keyvalue(self, bucket: str) -> Any:
        """Return a bucket."""
        kind = bucket.rpartition("__")[2].lower()
        return _NetworkKeyValue(self, kind, super().keyvalue(bucket))

    async def publish(self, subject: str, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        """Send a message that may be lost: nobody waits for it."""
        publish = super().publish
        step = "cancel" if ".control." in subject else "status"
        self._network.post(self._site, step, lambda: publish(subject, body, headers))

    async def request(
        self, subject: str, body: bytes, timeout_s: float, headers: Mapping[str, str] | None = None
    ) -> Message:
        """Ask, here for a result's confirmation."""
        request = super().request
        return await self.send("result", lambda: request(subject, body, timeout_s, headers), timeout_s)

    def subscribe(self, subject: str, handler: Handler, **more: Any) -> Any:
        """Hear messages; an answer is a message too."""

        async def heard(message: Message) -> None:
            async def respond(body: bytes) -> None:
                self._network.post(self._site, "confirm", lambda: message.respond(body))

            await handler(Message(message.subject, message.body, message.headers, respond))

        return super().subscribe(subject, heard, **more)

    async def lost(self) -> NoReturn:
        """Wait for ever."""
        while True:
            await asyncio.Event().wait()


async def _nothing() -> None:
    """A delivery that is on its way needs nothing of the broker."""
