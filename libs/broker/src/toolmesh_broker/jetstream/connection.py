"""One connection to NATS: connects, stays connected, and says plainly when it can't."""

import asyncio
import contextlib
import logging
import re
import secrets
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from typing import Any, NoReturn, TypeVar

import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from toolmesh_broker.errors import (
    BrokerClosedError,
    BrokerError,
    BrokerPermissionError,
    BrokerRefusedError,
    BrokerUnreachableError,
    InsecureConnectionError,
    NoRespondersError,
    PayloadTooLargeError,
)
from toolmesh_broker.jetstream.callbacks import Callbacks
from toolmesh_broker.jetstream.client_options import client_options, requires_tls
from toolmesh_broker.jetstream.requests import Answer, PendingAnswer, RequestInbox
from toolmesh_broker.jetstream.retrying import OPERATION_TIMEOUT_S, decoded, until_answered
from toolmesh_broker.jetstream.server_check import check_server
from toolmesh_broker.jetstream.transport import GuardedTransport, TlsNotOfferedError
from toolmesh_broker.settings import ConnectionSettings
from toolmesh_contracts.subjects import Subjects

__all__ = ["Connection", "open_connection"]

_log = logging.getLogger(__name__)

_WRITE_BUFFER = 2 * 1024 * 1024
_CLOSE_TIMEOUT_S = 5.0
_INFO_TRY_S = 2.0
_UNLIMITED = 0
_MOST_TOLD = 1000
_DENIED = re.compile(r"permissions violation for (publish|subscription) to \"([^\"]*)\"", re.IGNORECASE)

T = TypeVar("T")
MessageCallback = Callable[[Msg], Awaitable[None]]


class Connection:
    """nats-py's client with the traps of its defaults closed."""

    def __init__(self, settings: ConnectionSettings) -> None:
        self.subjects = Subjects(settings.namespace)
        self.identity = settings.identity
        self.inbox_prefix = self.subjects.inbox_prefix(settings.identity)
        self._settings = settings
        self._client = Client()
        self._requests = RequestInbox(f"{self.inbox_prefix}.r{secrets.token_hex(8)}")
        self._up = asyncio.Event()
        self._established = False
        self._closing = False
        self._lost: asyncio.Future[BrokerError] = asyncio.get_running_loop().create_future()
        self._down_since: float | None = None
        self._last_error: Exception | None = None
        self._denied_subscriptions: set[str] = set()
        self._told: set[str] = set()
        self._disconnected = Callbacks()
        self._reconnected = Callbacks()
        self._unfinished: set[asyncio.Task[Any]] = set()

    @property
    def connected(self) -> bool:
        """True while messages can be sent."""
        return self._client.is_connected

    @property
    def max_payload(self) -> int:
        """The server's limit for one message in bytes."""
        return self._client.max_payload

    # -- life

    async def connect(self) -> None:
        """Connect within the settings' timeout and check the server.

        Raises:
            BrokerUnreachableError: no server answers, or none accepts the credentials, in time.
            ServerTooOldError, BrokerRefusedError: the server can't do what toolmesh needs.
        """
        options = client_options(self._settings, self.inbox_prefix)
        # Set before connect(), else nats-py makes its own transport (see GuardedTransport).
        self._client._transport = GuardedTransport(require_tls=requires_tls(self._settings))
        dialing = asyncio.create_task(
            self._client.connect(
                **options,
                error_cb=self._on_error,
                disconnected_cb=self._on_disconnected,
                reconnected_cb=self._on_reconnected,
                closed_cb=self._on_closed,
                pending_size=_WRITE_BUFFER,
            )
        )
        try:
            futures: list[asyncio.Future[Any]] = [dialing, self._lost]
            await asyncio.wait(futures, timeout=self._settings.connect_timeout_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not dialing.done():
                dialing.cancel()
                await asyncio.wait({dialing})
        if self._lost.done():
            raise self._lost.result()
        if dialing.cancelled():
            raise self._unreachable(f"no connection within {self._settings.connect_timeout_s:g} s")
        dialing.result()
        self._established = True
        self._up.set()
        await self.subscribe_raw(self._requests.subject, self._requests.receive)
        check_server(await self._jetstream_info(), self.max_payload, _server_version(self._client))
        _log.info("broker connected", extra={"identity": self.identity})

    async def close(self) -> None:
        """Send what is buffered and close; a dead peer can't hold this up for longer than a few seconds."""
        self._closing = True
        closing = asyncio.create_task(self._client.close())
        try:
            await asyncio.wait({closing}, timeout=_CLOSE_TIMEOUT_S)
        finally:
            self._requests.disconnected()
            self._lost.cancel()
            for task in (closing, *self._unfinished):
                task.cancel()
        for outcome in await asyncio.gather(closing, *self._unfinished, return_exceptions=True):
            if isinstance(outcome, Exception):
                _log.debug("closing the broker connection: %s", outcome)

    async def lost(self) -> NoReturn:
        """Wait until the connection is closed for good, then raise why."""
        raise await asyncio.shield(self._lost)

    async def until_connected(self, timeout_s: float | None) -> None:
        """Wait for the connection, if need be for ever (None).

        Raises:
            BrokerUnreachableError: it is not back in time, or closed for good.
        """
        if self.connected:
            return

        try:
            async with asyncio.timeout(timeout_s):
                while not self.connected:
                    self._raise_if_over()
                    # nats-py notices a loss a little before it tells us.
                    self._up.clear()
                    await self._up.wait()
        except TimeoutError:
            raise self._unreachable(f"not reconnected within {timeout_s:g} s") from None

    def on_reconnect(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` after every reconnect; the returned function ends that."""
        return self._reconnected.add(callback)

    def on_disconnect(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` whenever the connection is lost; the returned function ends that."""
        return self._disconnected.add(callback)

    # -- messages

    async def send(self, subject: str, body: bytes, headers: Mapping[str, str] | None = None, reply: str = "") -> None:
        """Write a message to the connection.

        Raises:
            BrokerUnreachableError: there is no connection; nothing is kept for later.
            PayloadTooLargeError: the server would cut the connection over it.
        """
        self._raise_if_over()
        if not self.connected:
            raise self._unreachable("not connected")

        size = len(body) + sum(len(name) + len(value) + 4 for name, value in (headers or {}).items())
        if size > self.max_payload:
            raise PayloadTooLargeError(size, self.max_payload, subject)

        publish = self._client.publish(subject, body, reply=reply, headers=dict(headers) if headers else None)
        if self._client.pending_data_size + size + 4096 < _WRITE_BUFFER:
            # Below its buffer limit nats-py's publish never suspends, so it can't be cancelled half way.
            await self._guard(publish)
            return

        # Above it, it waits for the socket and swallows a cancellation (nats.py issue 624): so it runs apart.
        await self._finish(self._guard(publish))

    async def ask(
        self, subject: str, body: bytes, timeout_s: float, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """Send a request, once there is a connection, and wait for one answer.

        Raises:
            NoRespondersError, BrokerTimeoutError, BrokerUnreachableError, BrokerPermissionError, PayloadTooLargeError
        """
        started = time.monotonic()
        await self.until_connected(timeout_s)
        with self._requests.expect(subject) as pending:
            await self.send(subject, body, headers, pending.reply)
            return await pending.wait(max(0.001, timeout_s - (time.monotonic() - started)))

    def expect(self, subject: str) -> contextlib.AbstractContextManager[PendingAnswer]:
        """Register a question that is then sent by `send`; see RequestInbox.expect."""
        return self._requests.expect(subject)

    async def subscribe_raw(
        self, subject: str, callback: MessageCallback, queue: str = "", limit: int = _UNLIMITED
    ) -> Subscription:
        """Subscribe; `callback` must only hand the message on, since nats-py runs it message by message."""
        self._raise_if_over()
        return await self._finish(
            self._client.subscribe(
                subject, queue=queue, cb=callback, pending_msgs_limit=limit, pending_bytes_limit=_UNLIMITED
            )
        )

    async def confirm_subscription(self, subject: str) -> None:
        """Wait until the server has taken a subscription into account.

        Raises:
            BrokerPermissionError: this identity may not subscribe to it.
        """
        # The server works through one connection's commands in order: an answer to any request proves the earlier SUB.
        with contextlib.suppress(BrokerRefusedError):
            await self._jetstream_info()
        if subject.lower() in self._denied_subscriptions:
            raise BrokerPermissionError("subscribe to", subject)

    async def unsubscribe(self, subscription: Subscription) -> None:
        """End a subscription; nothing happens if the connection is gone."""
        with contextlib.suppress(nats.errors.Error):
            await self._finish(subscription.unsubscribe())

    async def drain(self, subscription: Subscription) -> None:
        """End a subscription after its callback has seen everything the server had sent."""
        await self._finish(self._drain(subscription))

    # -- internals

    async def _finish(self, operation: Coroutine[Any, Any, T]) -> T:
        """Run to its end what nats-py must not be cancelled in; who waits for it may be, and then `close` waits."""
        task = asyncio.create_task(operation)
        self._unfinished.add(task)
        task.add_done_callback(self._unfinished.discard)
        return await asyncio.shield(task)

    async def _guard(self, operation: Awaitable[None]) -> None:
        try:
            await operation
        except nats.errors.MaxPayloadError as error:
            raise BrokerRefusedError("the message is over the broker's limit") from error
        except (nats.errors.BadSubjectError, nats.errors.BadHeaderError) as error:
            raise BrokerRefusedError(f"the message is malformed: {error}") from error
        except (nats.errors.Error, OSError) as error:
            raise self._unreachable(f"sending failed: {str(error) or type(error).__name__}") from error

    async def _drain(self, subscription: Subscription) -> None:
        try:
            if self.connected:
                await subscription.drain()  # type: ignore[no-untyped-call]
            else:
                await subscription.unsubscribe()
        except nats.errors.FlushTimeoutError:
            # The peer is dead, and nats-py would trip over the answer that came late after all.
            await self._client.force_reconnect()
        except nats.errors.Error as error:
            _log.debug("ending a subscription: %s", error)

    async def _jetstream_info(self) -> dict[str, Any]:
        """Ask for this account's JetStream; a cluster that elects a leader leaves questions without an answer.

        Raises:
            BrokerRefusedError: this server has no JetStream.
            BrokerError: no answer in time.
        """

        async def once(try_s: float) -> dict[str, Any]:
            try:
                answer = await self.ask("$JS.API.INFO", b"", try_s)
            except NoRespondersError:
                raise BrokerRefusedError(
                    "the broker has no JetStream", hint="start nats-server with JetStream on"
                ) from None
            return decoded(answer)

        return await until_answered(once, OPERATION_TIMEOUT_S, _INFO_TRY_S)

    def _raise_if_over(self) -> None:
        if self._lost.done() and not self._lost.cancelled():
            raise self._lost.result()
        if self._closing:
            raise BrokerClosedError("the connection to the broker is closed")

    def _unreachable(self, what: str) -> BrokerUnreachableError:
        servers = ", ".join(url.rsplit("@", 1)[-1] for url in self._settings.servers)
        cause = f": {self._last_error}" if self._last_error and str(self._last_error) else ""
        return BrokerUnreachableError(
            f"broker {servers}: {what}{cause}", hint="check that it runs and that URL and credentials are right"
        )

    async def _on_error(self, error: Exception) -> None:
        if isinstance(error, nats.errors.SlowConsumerError):
            if self._told_once(f"slow {error.subject}"):
                _log.warning("messages dropped, handler is too slow", extra={"subject": error.subject})
            return

        if match := _DENIED.search(str(error)):
            self._deny(match[1].lower(), match[2])
            return

        self._last_error = error
        if isinstance(error, TlsNotOfferedError):
            self._refused(
                InsecureConnectionError(
                    "the broker offers no TLS, but it was asked for",
                    hint="use a nats:// URL, or set up TLS on the server",
                )
            )
        elif isinstance(error, ssl.SSLError):
            self._refused(self._unreachable("TLS failed"))
        elif "authorization" in str(error).lower():
            self._refused(self._unreachable("credentials refused"))

    def _deny(self, operation: str, subject: str) -> None:
        if self._told_once(f"{operation} {subject}"):
            _log.error("broker denies a subject", extra={"operation": operation, "subject": subject})
        if operation == "publish":
            # nats-py lowers the case of the server's errors, so compare likewise.
            self._requests.fail(BrokerPermissionError("publish to", subject), lambda asked: asked.lower() == subject)
        else:
            self._denied_subscriptions.add(subject)

    def _told_once(self, what: str) -> bool:
        """Tell whether this is the first time since the last reconnect, so that logs stay short."""
        if what in self._told or len(self._told) >= _MOST_TOLD:
            return False
        self._told.add(what)
        return True

    def _refused(self, error: BrokerError) -> None:
        """End the first attempt at once: waiting heals nothing. A later one may, so say it once and try on."""
        if not self._established:
            if not self._lost.done():
                self._lost.set_result(error)
        elif self._told_once("refused"):
            _log.error("broker does not take this identity back, trying on: %s", error.message)

    async def _on_disconnected(self) -> None:
        self._up.clear()
        self._requests.disconnected()
        if not self._closing and self._down_since is None:
            self._down_since = time.monotonic()
            _log.warning("broker connection lost, reconnecting", extra={"identity": self.identity})
            self._disconnected.call()

    async def _on_reconnected(self) -> None:
        down_s = time.monotonic() - (self._down_since or time.monotonic())
        self._down_since = None
        self._last_error = None
        self._denied_subscriptions.clear()
        self._told.clear()
        self._up.set()
        _log.info("broker reconnected", extra={"identity": self.identity, "down_s": round(down_s, 3)})
        self._reconnected.call()

    async def _on_closed(self) -> None:
        if not self._closing and not self._lost.done():
            _log.error("broker connection closed for good", extra={"identity": self.identity})
            self._lost.set_result(BrokerClosedError(self._unreachable("the connection was closed for good").message))
            self._up.set()


def _server_version(client: Client) -> str:
    with contextlib.suppress(KeyError, ValueError, AttributeError):
        return str(client.connected_server_version)
    return ""


@contextlib.asynccontextmanager
async def open_connection(settings: ConnectionSettings) -> AsyncIterator[Connection]:
    """Connect, and close on every way out."""
    connection = Connection(settings)
    try:
        await connection.connect()
        yield connection
    finally:
        await connection.close()
