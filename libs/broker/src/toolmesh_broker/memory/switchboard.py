"""Core messages in memory: subjects, queue groups, requests."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

from toolmesh_broker.memory.patterns import matches
from toolmesh_broker.ports import Handler, Message
from toolmesh_broker.task_scope import task_scope

__all__ = ["Switchboard"]

_log = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class _Subscriber:
    pattern: str
    queue: str
    inbox: asyncio.Queue[Message]


class Switchboard:
    """Brings messages to the handlers that listen."""

    def __init__(self) -> None:
        self._subscribers: list[_Subscriber] = []

    def send(self, message: Message) -> int:
        """Hand a message to every listener, one per queue group; return how many got it."""
        receivers = list(self._receivers(message.subject))
        for receiver in receivers:
            receiver.inbox.put_nowait(message)
        return len(receivers)

    @contextlib.asynccontextmanager
    async def listening(self, pattern: str, handler: Handler, queue: str, concurrency: int) -> AsyncIterator[None]:
        """Run `handler` on every message that matches."""
        subscriber = _Subscriber(pattern, queue, asyncio.Queue())
        running = asyncio.Semaphore(concurrency)

        async def handle(message: Message) -> None:
            try:
                await handler(message)
            except Exception:  # noqa: BLE001 - one bad message must not end the subscription of all others
                _log.exception("handler failed", extra={"subject": message.subject})
            finally:
                running.release()

        async with task_scope() as group:

            async def dispatch() -> None:
                while True:
                    message = await subscriber.inbox.get()
                    await running.acquire()
                    group.create_task(handle(message))

            dispatcher = group.create_task(dispatch())
            self._subscribers.append(subscriber)
            try:
                yield
            finally:
                self._subscribers.remove(subscriber)
                dispatcher.cancel()

    def _receivers(self, subject: str) -> Iterator[_Subscriber]:
        served: set[tuple[str, str]] = set()
        for subscriber in list(self._subscribers):
            if not matches(subscriber.pattern, subject):
                continue
            if subscriber.queue:
                group = (subscriber.pattern, subscriber.queue)
                if group in served:
                    continue
                served.add(group)
                # The next message goes to the next member.
                self._subscribers.remove(subscriber)
                self._subscribers.append(subscriber)
            yield subscriber
