"""Subscriptions whose handlers run side by side, bounded, and never stop the connection's reader."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator

from nats.aio.msg import Msg

from toolmesh_broker.errors import BrokerError
from toolmesh_broker.jetstream.connection import Connection
from toolmesh_broker.jetstream.requests import Answer
from toolmesh_broker.ports import Handler, Message
from toolmesh_broker.task_scope import task_scope

__all__ = ["subscription"]

_log = logging.getLogger(__name__)

_WAITING_MESSAGES = 65_536
"""Messages kept for a handler that falls behind; later ones are dropped, as core messages may be."""


@contextlib.asynccontextmanager
async def subscription(
    connection: Connection, subject: str, handler: Handler, queue: str, concurrency: int
) -> AsyncIterator[None]:
    """Run `handler` for every message on `subject`. See the port's `Broker.subscribe`."""
    running = asyncio.Semaphore(concurrency)

    async def handle(message: Message) -> None:
        try:
            await handler(message)
        except Exception:  # noqa: BLE001 - one bad message must not end the subscription of all others
            _log.exception("handler failed", extra={"subject": message.subject})
        finally:
            running.release()

    async with task_scope() as group:

        async def dispatch(message: Msg) -> None:
            await running.acquire()
            group.create_task(handle(as_message(connection, Answer.of(message))))

        subscribed = await connection.subscribe_raw(subject, dispatch, queue, _WAITING_MESSAGES)
        try:
            await connection.confirm_subscription(subject)
            yield
        finally:
            await connection.unsubscribe(subscribed)


def as_message(connection: Connection, answer: Answer) -> Message:
    """Return a message of the port, able to answer if a reply is expected."""
    if not answer.reply:
        return Message(answer.subject, answer.body, answer.headers)

    async def respond(body: bytes) -> None:
        try:
            await connection.send(answer.reply, body)
        except BrokerError as error:
            _log.debug("answer to %s not sent: %s", answer.subject, error)

    return Message(answer.subject, answer.body, answer.headers, respond)
