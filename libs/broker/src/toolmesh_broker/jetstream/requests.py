"""Requests over one private inbox for the life of a connection."""

import asyncio
import contextlib
import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from nats.aio.msg import Msg

from toolmesh_broker.errors import BrokerError, BrokerTimeoutError, BrokerUnreachableError, NoRespondersError

__all__ = ["Answer", "PendingAnswer", "RequestInbox"]

_NO_RESPONDERS = "503"


@dataclass(frozen=True, slots=True)
class Answer:
    """A message on the private inbox."""

    subject: str
    body: bytes
    headers: Mapping[str, str]
    reply: str = ""

    @property
    def status(self) -> str:
        """The server's own status such as `404`; empty for a plain message."""
        return self.headers.get("Status", "")

    @property
    def description(self) -> str:
        """What the server says of its status."""
        return self.headers.get("Description", "").strip()

    @classmethod
    def of(cls, message: Msg) -> "Answer":
        """Take over nats-py's message; its own keys for status headers are no plain strings."""
        headers = {str.__str__(key): value for key, value in (message.headers or {}).items()}
        return cls(message.subject, message.data, headers, message.reply)


class PendingAnswer:
    """The answer to one question."""

    def __init__(self, subject: str, reply: str) -> None:
        self.subject = subject
        self.reply = reply
        self._answer: asyncio.Future[Answer | BrokerError] = asyncio.get_running_loop().create_future()

    def offer(self, answer: Answer | BrokerError) -> None:
        """Hand over the answer, or the reason why none will come. Only the first counts."""
        if not self._answer.done():
            self._answer.set_result(answer)

    async def wait(self, timeout_s: float) -> Answer:
        """Wait for the answer.

        Raises:
            BrokerTimeoutError, BrokerUnreachableError, NoRespondersError, BrokerPermissionError: none will come.
        """
        try:
            async with asyncio.timeout(timeout_s):
                answer = await self._answer
        except TimeoutError:
            raise BrokerTimeoutError(
                f"no answer on {self.subject} within {timeout_s:g} s", hint="check that the broker is healthy"
            ) from None

        if isinstance(answer, BrokerError):
            raise answer
        if answer.status == _NO_RESPONDERS:
            raise NoRespondersError(self.subject)
        return answer


class RequestInbox:
    """Knows who waits for which answer. An entry lives exactly as long as its `expect` block."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._tokens = itertools.count()
        self._waiting: dict[str, PendingAnswer] = {}

    @property
    def subject(self) -> str:
        """Filter to subscribe to."""
        return f"{self._prefix}.*"

    @property
    def waiting(self) -> int:
        """How many questions are open."""
        return len(self._waiting)

    @contextlib.contextmanager
    def expect(self, subject: str) -> Iterator[PendingAnswer]:
        """Keep a question registered inside the block; ask it there, with the given reply subject."""
        pending = PendingAnswer(subject, f"{self._prefix}.{next(self._tokens):x}")
        self._waiting[pending.reply] = pending
        try:
            yield pending
        finally:
            del self._waiting[pending.reply]

    async def receive(self, message: Msg) -> None:
        """Hand a message to whoever waits for it; late answers are dropped."""
        pending = self._waiting.get(message.subject)
        if pending is not None:
            pending.offer(Answer.of(message))

    def fail(self, error: BrokerError, matches: Callable[[str], bool] = lambda _subject: True) -> None:
        """End the open questions whose subject matches."""
        for pending in list(self._waiting.values()):
            if matches(pending.subject):
                pending.offer(error)

    def disconnected(self) -> None:
        """End all open questions: their answers went to a connection that is gone."""
        self.fail(BrokerUnreachableError("the connection to the broker was lost while waiting for an answer"))
