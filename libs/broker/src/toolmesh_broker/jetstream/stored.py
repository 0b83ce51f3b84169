"""Reads a plain stream without a consumer (ADR-31: direct get), one message or many at a time."""

import asyncio
import json
import secrets
from typing import Any, Final

from nats.aio.msg import Msg

from toolmesh_broker.errors import BrokerRefusedError, BrokerTimeoutError
from toolmesh_broker.jetstream.connection import Connection
from toolmesh_broker.jetstream.requests import Answer
from toolmesh_broker.jetstream.retrying import OPERATION_TIMEOUT_S, until_answered
from toolmesh_broker.ports import StoredMessage

__all__ = ["next_stored", "stored_batch"]

_NOT_FOUND: Final = "404"
_END_OF_BATCH: Final = "204"
_MOST_BYTES: Final = 8 * 1024 * 1024
"""Of one batch: it is held in memory."""


async def next_stored(connection: Connection, stream: str, pattern: str, after: int) -> StoredMessage | None:
    """Return the first message behind sequence `after` whose subject matches; None if there is none.

    Raises:
        BrokerRefusedError: the stream allows no direct reads.
        BrokerError: no answer in time, such as for a stream that is not there.
    """

    async def once(try_s: float) -> Answer:
        return await connection.ask(_subject(stream), _request(pattern, after), try_s)

    answer = await until_answered(once, OPERATION_TIMEOUT_S)
    if answer.status == _NOT_FOUND:
        return None
    return _message(stream, answer)


async def stored_batch(
    connection: Connection, stream: str, pattern: str, after: int, most: int
) -> tuple[StoredMessage, ...]:
    """Return the next messages behind sequence `after` whose subject matches, in order; at most `most` of them.

    Fewer don't mean that there are no more, but none does.

    Raises:
        BrokerRefusedError: the stream allows no direct reads.
        BrokerError: no answer in time.
    """

    async def once(try_s: float) -> list[Answer]:
        body = _request(pattern, after, batch=most, max_bytes=_MOST_BYTES)
        return await _ask_for_many(connection, _subject(stream), body, try_s)

    answers = await until_answered(once, OPERATION_TIMEOUT_S)
    return tuple(_message(stream, answer) for answer in answers)


async def _ask_for_many(connection: Connection, subject: str, body: bytes, try_s: float) -> list[Answer]:
    """Return all answers up to the status that ends them."""
    answers: list[Answer] = []
    ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def receive(message: Msg) -> None:
        answer = Answer.of(message)
        if answer.status in {_END_OF_BATCH, _NOT_FOUND}:
            if not ended.done():
                ended.set_result(None)
            return
        answers.append(answer)
        if answer.status and not ended.done():
            ended.set_result(None)

    inbox = f"{connection.inbox_prefix}.b{secrets.token_hex(8)}"
    subscription = await connection.subscribe_raw(inbox, receive)
    try:
        async with asyncio.timeout(try_s):
            await connection.send(subject, body, reply=inbox)
            await ended
    except TimeoutError:
        raise BrokerTimeoutError(
            f"no whole answer on {subject} within {try_s:g} s", hint="check that the broker is healthy"
        ) from None
    finally:
        await connection.unsubscribe(subscription)
    return answers


def _subject(stream: str) -> str:
    return f"$JS.API.DIRECT.GET.{stream}"


def _request(pattern: str, after: int, **more: Any) -> bytes:
    return json.dumps({"seq": after + 1, "next_by_subj": pattern, **more}).encode()


def _message(stream: str, answer: Answer) -> StoredMessage:
    if answer.status:
        raise BrokerRefusedError(f"reading stream {stream}: {answer.status} {answer.description}")
    headers = {name: value for name, value in answer.headers.items() if not name.startswith("Nats-")}
    return StoredMessage(answer.headers["Nats-Subject"], int(answer.headers["Nats-Sequence"]), answer.body, headers)
