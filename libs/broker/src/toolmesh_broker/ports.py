"""What toolmesh needs of a broker. Implemented by `jetstream` and by its in-memory twin `memory`."""

from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import NoReturn, Protocol

from toolmesh_contracts.envelopes.values import PayloadRef
from toolmesh_contracts.subjects import Subjects

__all__ = [
    "Broker",
    "Change",
    "Deleted",
    "Delivery",
    "Entry",
    "Handler",
    "InitialDone",
    "Intake",
    "KeyValue",
    "Message",
    "OutgoingInvocation",
    "PayloadStore",
    "PublishReceipt",
    "StoredMessage",
    "Watch",
]


@dataclass(frozen=True, slots=True)
class Message:
    """A core message or the answer to a request."""

    subject: str
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    responder: Callable[[bytes], Awaitable[None]] | None = None

    async def respond(self, body: bytes) -> None:
        """Answer a request; does nothing for a message that nobody waits for."""
        if self.responder is not None:
            await self.responder(body)


Handler = Callable[[Message], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class OutgoingInvocation:
    """A call to put into a pool's queue."""

    pool: str
    subject: str
    invocation: str
    """The id; a second publish of it within the duplicate window is dropped by the broker."""
    body: bytes
    deadline_ms: int
    """Unix time in milliseconds after which the broker drops the call."""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PublishReceipt:
    """Proof that a stream holds a message."""

    stream: str
    sequence: int
    duplicate: bool = False
    """The stream has, or had, a message with this id already."""


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A message of a plain stream, such as the dead letters'."""

    subject: str
    sequence: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


class Delivery(Protocol):
    """An invocation handed to this worker. Unsettled ones come again after the consumer's ack_wait."""

    @property
    def subject(self) -> str:
        """The invocation's subject."""

    @property
    def headers(self) -> Mapping[str, str]:
        """Its headers."""

    @property
    def body(self) -> bytes:
        """The invocation, not yet decoded."""

    @property
    def stream(self) -> str:
        """The queue's stream."""

    @property
    def sequence(self) -> int:
        """Its place in the stream."""

    @property
    def delivered(self) -> int:
        """How often it was delivered, from 1. Not the attempt: that is the ledger's count of runs."""

    async def ack(self) -> None:
        """Settle it and wait until the broker confirms; safe to repeat."""

    async def nak(self, delay_s: float = 0.0) -> None:
        """Hand it back, to be delivered again after `delay_s` seconds."""

    async def term(self, reason: str) -> None:
        """Settle it for good without success; it leaves the queue."""

    async def in_progress(self) -> None:
        """Start ack_wait anew and wait until the broker confirms."""


class Intake(Protocol):
    """Deliveries of one pool, at most as many as there is credit."""

    def __aiter__(self) -> AsyncIterator[Delivery]: ...
    async def __anext__(self) -> Delivery: ...

    def wake(self) -> None:
        """Say that credit has grown; without it the growth is seen a second later."""

    def rest(self, delivery: Delivery, seconds: float) -> None:
        """Ask the queue that a delivery came from for nothing for a while."""

    def pause(self) -> None:
        """Ask for nothing more; what still arrives is handed back at once."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A key's value."""

    key: str
    value: bytes
    revision: int


@dataclass(frozen=True, slots=True)
class Deleted:
    """A key lost its value: deleted or expired."""

    key: str


@dataclass(frozen=True, slots=True)
class InitialDone:
    """All values that existed when a watch began have been told."""


Change = Entry | Deleted | InitialDone


class Watch(Protocol):
    """Changes of keys, for ever: it outlives reconnects and restarts of the broker."""

    def __aiter__(self) -> AsyncIterator[Change]: ...
    async def __anext__(self) -> Change: ...


class KeyValue(Protocol):
    """One bucket. Keys are dot-separated tokens; a pattern may hold `*` and end in `>`."""

    async def get(self, key: str) -> Entry | None:
        """Return the key's value, or None."""

    async def create(self, key: str, value: bytes, ttl_s: float | None = None) -> int:
        """Write a key that has no value; return its revision.

        Raises:
            KeyExistsError: it has one.
        """

    async def update(self, key: str, value: bytes, revision: int, ttl_s: float | None = None) -> int:
        """Write a key that is still at `revision`; return the new one. Without `ttl_s` it never expires.

        Raises:
            RevisionConflictError: it was changed, deleted or has expired.
        """

    async def put(self, key: str, value: bytes, ttl_s: float | None = None) -> int:
        """Write a key whatever it holds; return its revision."""

    async def delete(self, key: str, revision: int | None = None) -> None:
        """Remove a key's value, if given only when it is still at `revision`.

        Raises:
            RevisionConflictError: it was changed.
        """

    async def keys(self, pattern: str = ">") -> list[str]:
        """Return the keys that have a value now and match."""

    def watch(self, pattern: str = ">") -> AbstractAsyncContextManager[Watch]:
        """Follow the keys that match: first all values there are, then InitialDone, then every change."""


class PayloadStore(Protocol):
    """Large contents of one pool."""

    async def put(self, name: str, content: bytes | AsyncIterable[bytes], ttl_s: float) -> PayloadRef:
        """Store `content` under a name of its own, dropped by the broker after `ttl_s` seconds."""

    def open(self, ref: PayloadRef) -> AsyncIterator[bytes]:
        """Read chunk by chunk in bounded memory.

        Only when the iteration ends without an error do the chunks match the reference's size and SHA-256.

        Raises:
            PayloadMissingError: not, or no longer, there.
            PayloadCorruptError: cut short, too long, or of another SHA-256.
        """

    async def delete(self, ref: PayloadRef) -> None:
        """Remove it; does nothing when it is gone."""


class Broker(Protocol):
    """One identity's connection."""

    @property
    def subjects(self) -> Subjects:
        """Names of the namespace."""

    @property
    def identity(self) -> str:
        """Who this connection is."""

    @property
    def connected(self) -> bool:
        """True while messages can be sent."""

    @property
    def max_payload(self) -> int:
        """Largest message in bytes, headers included."""

    async def publish_invocation(self, call: OutgoingInvocation) -> PublishReceipt:
        """Queue a call; tried again with the same id until its deadline.

        Raises:
            QueueFullError: the tenant's or the broker's limit is reached.
            BrokerTimeoutError, BrokerUnreachableError, NoRespondersError: whether it is queued is unknown.
        """

    async def delete_invocation(self, receipt: PublishReceipt) -> bool:
        """Withdraw a queued call; False if it is no longer in the queue."""

    async def append(
        self,
        stream: str,
        subject: str,
        body: bytes,
        *,
        message_id: str,
        headers: Mapping[str, str] | None = None,
        timeout_s: float = 10.0,
    ) -> PublishReceipt:
        """Store a message in a stream; tried again with the same id for `timeout_s` seconds."""

    async def next_stored(self, stream: str, pattern: str, *, after: int = 0) -> StoredMessage | None:
        """Return the first message behind a sequence whose subject matches; None if there is none."""

    async def delete_stored(self, stream: str, sequence: int) -> bool:
        """Remove a message from a stream; False if it is not there."""

    def consume(self, pool: str, credit: Callable[[], int]) -> AbstractAsyncContextManager[Intake]:
        """Take calls from a pool's queue while `credit()` (free slots) is above 0.

        On leaving, what was not handed out goes back to the queue at once.
        """

    def keyvalue(self, bucket: str) -> KeyValue:
        """Return a bucket by its name from Subjects."""

    def payloads(self, pool: str) -> PayloadStore:
        """Return a pool's payload store."""

    async def publish(self, subject: str, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        """Send a message that may be lost; BrokerUnreachableError at once when there is no connection."""

    async def request(
        self, subject: str, body: bytes, timeout_s: float, headers: Mapping[str, str] | None = None
    ) -> Message:
        """Ask and wait for one answer.

        Raises:
            NoRespondersError: nobody listens.
            BrokerTimeoutError: no answer in `timeout_s` seconds.
            BrokerUnreachableError: no connection, or it was lost while waiting.
        """

    def subscribe(
        self, subject: str, handler: Handler, *, queue: str = "", concurrency: int = 256
    ) -> AbstractAsyncContextManager[None]:
        """Run `handler` on every message, started in order of arrival, at most `concurrency` at once.

        The subscription stands when the block begins; handlers that still run at its end are awaited.
        """

    def on_reconnect(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` after every reconnect; the returned function ends that."""

    def on_disconnect(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` whenever the connection is lost; the returned function ends that."""

    async def lost(self) -> NoReturn:
        """Wait until the connection is closed for good by the other side, then raise BrokerClosedError."""
