"""The port `Broker` on JetStream."""

import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import NoReturn

from toolmesh_broker.errors import BrokerTimeoutError
from toolmesh_broker.jetstream.api import ApiError, api_request, publish_acknowledged
from toolmesh_broker.jetstream.connection import Connection, open_connection
from toolmesh_broker.jetstream.event_log import EventLog
from toolmesh_broker.jetstream.keyvalue import JetStreamKeyValue
from toolmesh_broker.jetstream.layout import LayoutSettings
from toolmesh_broker.jetstream.payload_store import JetStreamPayloadStore
from toolmesh_broker.jetstream.provision import keep_provisioned
from toolmesh_broker.jetstream.pull_loop import PullIntake, pulling
from toolmesh_broker.jetstream.stored import next_stored
from toolmesh_broker.jetstream.subscriptions import as_message, subscription
from toolmesh_broker.jetstream.task_queue import TaskQueue
from toolmesh_broker.ports import Handler, Message, OutgoingInvocation, PublishReceipt, StoredMessage
from toolmesh_broker.settings import ConnectionSettings
from toolmesh_broker.ttl import seconds_until, whole_seconds
from toolmesh_contracts.headers import MESSAGE_ID, MESSAGE_TTL
from toolmesh_contracts.names import SHARD_COUNT, Lane
from toolmesh_contracts.subjects import Subjects

__all__ = ["JetStreamBroker", "connect"]

_MESSAGE_GONE = frozenset({10037, 10043, 10057})
"""No message found, sequence not found, store EOF: what a delete says of a message that is not there."""


class JetStreamBroker:
    """One identity's connection. See the port `Broker`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @property
    def subjects(self) -> Subjects:
        """Names of the namespace."""
        return self._connection.subjects

    @property
    def identity(self) -> str:
        """Who this connection is."""
        return self._connection.identity

    @property
    def connected(self) -> bool:
        """True while messages can be sent."""
        return self._connection.connected

    @property
    def max_payload(self) -> int:
        """Largest message in bytes."""
        return self._connection.max_payload

    async def publish_invocation(self, call: OutgoingInvocation) -> PublishReceipt:
        """Queue a call until its deadline."""
        left_s = seconds_until(call.deadline_ms)
        if left_s <= 0:
            raise BrokerTimeoutError(f"the deadline of call {call.invocation} passed before it was queued")

        headers = {**call.headers, MESSAGE_ID: call.invocation, MESSAGE_TTL: str(whole_seconds(left_s))}
        stream = self.subjects.invoke_stream(call.pool)
        try:
            return await publish_acknowledged(self._connection, stream, call.subject, call.body, headers, left_s)
        except BrokerTimeoutError as error:
            raise BrokerTimeoutError(
                f"the broker did not say until its deadline that it keeps call {call.invocation}",
                hint="its disk may be full, which it tells nobody: `toolmesh doctor` and its log show more",
            ) from error

    async def delete_invocation(self, receipt: PublishReceipt) -> bool:
        """Withdraw a queued call."""
        return await self.delete_stored(receipt.stream, receipt.sequence)

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
        """Store a message in a stream."""
        complete = {**(headers or {}), MESSAGE_ID: message_id}
        return await publish_acknowledged(self._connection, stream, subject, body, complete, timeout_s)

    async def next_stored(self, stream: str, pattern: str, *, after: int = 0) -> StoredMessage | None:
        """Return the next message that matches."""
        return await next_stored(self._connection, stream, pattern, after)

    async def delete_stored(self, stream: str, sequence: int) -> bool:
        """Remove a message."""
        try:
            await api_request(self._connection, f"STREAM.MSG.DELETE.{stream}", {"seq": sequence, "no_erase": True})
        except ApiError as error:
            if error.error_code in _MESSAGE_GONE:
                return False
            raise
        return True

    def consume(self, pool: str, credit: Callable[[], int]) -> AbstractAsyncContextManager[PullIntake]:
        """Take calls from a pool's queue."""
        consumers = [self.subjects.invoke_consumer(lane, shard) for lane in Lane for shard in range(SHARD_COUNT)]
        return pulling(self._connection, self.subjects.invoke_stream(pool), consumers, credit)

    def keyvalue(self, bucket: str) -> JetStreamKeyValue:
        """Return a bucket by its name from Subjects."""
        return JetStreamKeyValue(self._connection, bucket)

    def payloads(self, pool: str) -> JetStreamPayloadStore:
        """Return a pool's payload store."""
        return JetStreamPayloadStore(self._connection, self.subjects.payload_bucket(pool))

    def events(self) -> EventLog:
        """Return the events of tasks."""
        return EventLog(self._connection)

    def tasks(self) -> TaskQueue:
        """Return the queue of tasks."""
        return TaskQueue(self._connection)

    async def publish(self, subject: str, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        """Send a message that may be lost."""
        await self._connection.send(subject, body, headers)

    async def request(
        self, subject: str, body: bytes, timeout_s: float, headers: Mapping[str, str] | None = None
    ) -> Message:
        """Ask and wait for one answer."""
        return as_message(self._connection, await self._connection.ask(subject, body, timeout_s, headers))

    def subscribe(
        self, subject: str, handler: Handler, *, queue: str = "", concurrency: int = 256
    ) -> AbstractAsyncContextManager[None]:
        """Run `handler` on every message."""
        return subscription(self._connection, subject, handler, queue, concurrency)

    def on_reconnect(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` after every reconnect."""
        return self._connection.on_reconnect(callback)

    def on_disconnect(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` whenever the connection is lost."""
        return self._connection.on_disconnect(callback)

    async def lost(self) -> NoReturn:
        """Wait until the connection is closed for good, then raise."""
        await self._connection.lost()

    def provisioned(
        self, pools: Sequence[str], settings: LayoutSettings | None = None
    ) -> AbstractAsyncContextManager[None]:
        """Make the namespace's streams and buckets, and keep those in memory there; see `keep_provisioned`."""
        return keep_provisioned(self._connection, pools, settings or LayoutSettings())


@contextlib.asynccontextmanager
async def connect(settings: ConnectionSettings) -> AsyncIterator[JetStreamBroker]:
    """Connect to NATS; the connection is closed at the end of the block.

    Raises:
        BrokerUnreachableError: no server answers in time or takes the credentials.
        ServerTooOldError, InsecureConnectionError, BrokerRefusedError: the server can't do what is needed.
    """
    async with open_connection(settings) as connection:
        yield JetStreamBroker(connection)
