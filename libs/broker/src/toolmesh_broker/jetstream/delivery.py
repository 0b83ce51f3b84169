"""One delivered invocation and the ways to settle it."""

import json
from collections.abc import Callable, Mapping

from toolmesh_broker.jetstream.ack_subject import AckSubject
from toolmesh_broker.jetstream.connection import Connection
from toolmesh_broker.jetstream.requests import Answer
from toolmesh_broker.jetstream.retrying import OPERATION_TIMEOUT_S, until_answered

__all__ = ["JetStreamDelivery"]

_NANOSECONDS = 1_000_000_000


class JetStreamDelivery:
    """See the port `Delivery`."""

    def __init__(self, connection: Connection, answer: Answer, origin: AckSubject, settled: Callable[[], None]) -> None:
        self._connection = connection
        self._answer = answer
        self._origin = origin
        self._settled = settled

    @property
    def subject(self) -> str:
        """The invocation's subject."""
        return self._answer.subject

    @property
    def headers(self) -> Mapping[str, str]:
        """The invocation's headers."""
        return self._answer.headers

    @property
    def body(self) -> bytes:
        """The invocation, not yet decoded."""
        return self._answer.body

    @property
    def stream(self) -> str:
        """The queue's stream."""
        return self._origin.stream

    @property
    def sequence(self) -> int:
        """Its place in the stream."""
        return self._origin.sequence

    @property
    def delivered(self) -> int:
        """How often it was delivered."""
        return self._origin.delivered

    async def ack(self) -> None:
        """Settle it and wait for the broker's confirmation."""
        await self._ask(b"+ACK", OPERATION_TIMEOUT_S)
        self._settled()

    async def nak(self, delay_s: float = 0.0) -> None:
        """Hand it back."""
        await self._connection.send(self._answer.reply, nak_body(delay_s))
        self._settled()

    async def term(self, reason: str) -> None:
        """Settle it for good without success."""
        line = " ".join(reason.split())[:500]
        await self._ask(f"+TERM {line}".encode(), OPERATION_TIMEOUT_S)
        self._settled()

    async def in_progress(self) -> None:
        """Start ack_wait anew; one try, since the next renewal is near."""
        await self._connection.ask(self._answer.reply, b"+WPI", 2.0)

    async def _ask(self, body: bytes, timeout_s: float) -> None:
        async def once(try_s: float) -> Answer:
            return await self._connection.ask(self._answer.reply, body, try_s)

        await until_answered(once, timeout_s)


def nak_body(delay_s: float) -> bytes:
    """Return the negative acknowledgement, with a delay if there is one."""
    if delay_s <= 0:
        return b"-NAK"
    return b"-NAK " + json.dumps({"delay": int(delay_s * _NANOSECONDS)}).encode()
