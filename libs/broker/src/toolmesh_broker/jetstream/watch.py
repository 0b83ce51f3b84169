"""Follows a bucket's keys with a pull consumer of its own that is made anew whenever it may be gone.

After every reconnect, missed heartbeat or loss of the consumer the matching keys are read again and compared with what
was told before. That is one rule for a network cut, a restarted broker and an in-memory bucket that came back empty.
"""

import asyncio
import json
import logging
import secrets
from collections import deque
from collections.abc import Callable
from typing import Any, Final

from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from toolmesh_broker.errors import BrokerClosedError, BrokerError, BrokerPermissionError, BrokerUnreachableError
from toolmesh_broker.jetstream.ack_subject import AckSubject
from toolmesh_broker.jetstream.api import api_request
from toolmesh_broker.jetstream.connection import Connection
from toolmesh_broker.jetstream.pull_timing import PullTiming
from toolmesh_broker.jetstream.requests import Answer
from toolmesh_broker.ports import Change, Deleted, Entry, InitialDone

__all__ = ["JetStreamWatch"]

_log = logging.getLogger(__name__)

_BATCH: Final = 256
_INACTIVE_S: Final = 60
_NANOSECONDS: Final = 1_000_000_000
_HEARTBEAT_STATUS = "100"
_PULL_ENDED = frozenset({"404", "408"})

Version = tuple[int, int]
"""Sequence and time of a value. The time matters when an in-memory bucket starts again from sequence 1."""


class JetStreamWatch:
    """An async iterator of changes. See the port `Watch`."""

    def __init__(
        self,
        connection: Connection,
        stream: str,
        prefix: str,
        pattern: str,
        is_tombstone: Callable[[Answer], bool],
        timing: PullTiming,
    ) -> None:
        self._connection = connection
        self._stream = stream
        self._prefix = prefix
        self._filter = prefix + pattern
        self._is_tombstone = is_tombstone
        self._timing = timing
        self._inbox = f"{connection.inbox_prefix}.w{secrets.token_hex(8)}"
        self._subscription: Subscription | None = None
        self._forget_reconnect: Callable[[], None] = lambda: None
        self._arrived: deque[Answer] = deque()
        self._signal = asyncio.Event()
        self._ready: deque[Change] = deque()
        self._known: dict[str, Version] = {}
        self._consumer: str | None = None
        self._losses = 0
        self._refused = False
        self._reread: set[str] | None = None
        self._told_initial = False
        self._outstanding = 0

    async def open(self) -> None:
        """Start listening; the first values come with the iteration."""
        self._subscription = await self._connection.subscribe_raw(self._inbox, self._receive)
        self._forget_reconnect = self._connection.on_reconnect(self._invalidate)
        try:
            await self._restart()
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Stop listening; the server removes the consumer by itself."""
        self._forget_reconnect()
        if self._subscription is not None:
            await self._connection.unsubscribe(self._subscription)

    def __aiter__(self) -> "JetStreamWatch":
        return self

    async def __anext__(self) -> Change:
        """Wait for the next change, however long the broker is away."""
        while not self._ready:
            if self._consumer is None:
                await self._restart_until_done()
            else:
                await self._advance(self._consumer)
        return self._ready.popleft()

    # -- the consumer

    def _invalidate(self) -> None:
        self._consumer = None
        self._losses += 1
        self._signal.set()

    async def _restart_until_done(self) -> None:
        try:
            await self._restart()
        except (BrokerPermissionError, BrokerClosedError):
            raise
        except BrokerUnreachableError:
            await self._connection.until_connected(None)
            await asyncio.sleep(self._timing.refused_pause_s)
        except BrokerError as error:
            # A bucket in memory is about to be provisioned again, and other refusals may end by an operator's hand.
            if not self._refused:
                _log.warning("watch of %s is refused, trying on: %s", self._filter, error)
            self._refused = True
            await asyncio.sleep(self._timing.refused_pause_s)
        else:
            self._refused = False

    async def _restart(self) -> None:
        name = f"w{secrets.token_hex(8)}"
        config: dict[str, Any] = {
            "name": name,
            "deliver_policy": "last_per_subject",
            "ack_policy": "none",
            "replay_policy": "instant",
            "filter_subject": self._filter,
            "inactive_threshold": _INACTIVE_S * _NANOSECONDS,
            "mem_storage": True,
            "num_replicas": 1,
        }
        self._arrived.clear()
        losses = self._losses
        created = await api_request(
            self._connection,
            f"CONSUMER.CREATE.{self._stream}.{name}.{self._filter}",
            {"stream_name": self._stream, "config": config, "action": "create"},
        )
        if self._losses != losses:
            return  # the connection was lost meanwhile, and perhaps this consumer with it
        self._consumer = name
        self._outstanding = 0
        self._reread = set()
        if created.get("num_pending", 0) == 0:
            self._finish_reading()

    async def _advance(self, consumer: str) -> None:
        """Ask for more if nothing is asked for, then take in what arrives, or find that all is silent."""
        if self._outstanding <= 0:
            request = json.dumps(self._timing.request(_BATCH)).encode()
            try:
                await self._connection.send(
                    f"$JS.API.CONSUMER.MSG.NEXT.{self._stream}.{consumer}",
                    request,
                    reply=self._inbox,
                )
            except BrokerError:
                self._invalidate()  # making it anew tells what is wrong
                return
            self._outstanding = _BATCH

        self._signal.clear()
        if not self._arrived:
            try:
                async with asyncio.timeout(self._timing.silence_s):
                    await self._signal.wait()
            except TimeoutError:
                self._invalidate()
                return
        while self._arrived:
            await self._take_in(self._arrived.popleft())

    async def _receive(self, message: Msg) -> None:
        self._arrived.append(Answer.of(message))
        self._signal.set()

    async def _take_in(self, answer: Answer) -> None:
        if answer.status == _HEARTBEAT_STATUS:
            return
        if answer.status in _PULL_ENDED:
            self._outstanding = 0
            return
        if answer.status:
            self._invalidate()
            await asyncio.sleep(self._timing.refused_pause_s)
            return

        origin = AckSubject.parse(answer.reply)
        if origin is None or origin.consumer != self._consumer:
            return
        self._outstanding -= 1
        self._tell(answer, origin)
        if self._reread is not None and origin.pending == 0:
            self._finish_reading()

    # -- the keys

    def _tell(self, answer: Answer, origin: AckSubject) -> None:
        key = answer.subject.removeprefix(self._prefix)
        if self._is_tombstone(answer):
            if self._known.pop(key, None) is not None:
                self._ready.append(Deleted(key))
            return

        if self._reread is not None:
            self._reread.add(key)
        version = (origin.sequence, origin.timestamp_ns)
        if self._known.get(key) != version:
            self._known[key] = version
            self._ready.append(Entry(key, answer.body, origin.sequence))

    def _finish_reading(self) -> None:
        """All current values were told: what was known and is not among them has gone."""
        seen = self._reread or set()
        self._reread = None
        for key in [key for key in self._known if key not in seen]:
            del self._known[key]
            self._ready.append(Deleted(key))
        if not self._told_initial:
            self._told_initial = True
            self._ready.append(InitialDone())
