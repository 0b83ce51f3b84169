"""A later call of a turn, offered to the worker that has the turn's workspace."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from toolmesh_broker.ports import Message
from toolmesh_contracts.envelopes.invocation import DirectReply
from toolmesh_contracts.headers import MESSAGE_ID
from toolmesh_contracts.wire import encode

__all__ = ["DirectDelivery"]


@dataclass(slots=True)
class DirectDelivery:
    """A request that carries a signed invocation; see the port `Delivery`.

    It is in no queue: what is not taken here, the caller puts there. The answer is given once.
    """

    message: Message
    sequence: int = field(default=0, init=False)
    delivered: int = field(default=1, init=False)
    _answered: bool = field(default=False, init=False)

    @property
    def stream(self) -> str:
        """Names this one message, as there is no stream."""
        return f"direct-{self._invocation}"

    @property
    def subject(self) -> str:
        """The worker's subject of direct calls."""
        return self.message.subject

    @property
    def headers(self) -> Mapping[str, str]:
        """The invocation's headers."""
        return self.message.headers

    @property
    def body(self) -> bytes:
        """The invocation, not yet decoded."""
        return self.message.body

    async def taken(self) -> None:
        """Say that this worker has the call: it runs here, or has its result."""
        await self._answer(taken=True)

    async def ack(self) -> None:
        """Settled: the caller has the result."""
        await self._answer(taken=True)

    async def nak(self, delay_s: float = 0.0) -> None:
        """Not taken; the caller queues it."""
        await self._answer(taken=False)

    async def term(self, reason: str) -> None:
        """Refused for good: the caller was told."""
        await self._answer(taken=True)

    async def in_progress(self) -> None:
        """Does nothing: no queue waits for it."""

    async def _answer(self, *, taken: bool) -> None:
        if not self._answered:
            self._answered = True
            await self.message.respond(encode(DirectReply(invocation=self._invocation, taken=taken)))

    @property
    def _invocation(self) -> str:
        return self.message.headers.get(MESSAGE_ID, "")
