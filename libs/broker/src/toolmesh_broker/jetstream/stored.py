"""Reads a plain stream message by message, without a consumer (ADR-31: direct get)."""

import json
from typing import Final

from toolmesh_broker.errors import BrokerRefusedError
from toolmesh_broker.jetstream.connection import Connection
from toolmesh_broker.jetstream.requests import Answer
from toolmesh_broker.jetstream.retrying import OPERATION_TIMEOUT_S, until_answered
from toolmesh_broker.ports import StoredMessage

__all__ = ["next_stored"]

_NOT_FOUND: Final = "404"


async def next_stored(connection: Connection, stream: str, pattern: str, after: int) -> StoredMessage | None:
    """Return the first message behind sequence `after` whose subject matches; None if there is none.

    Raises:
        BrokerRefusedError: the stream allows no direct reads.
        BrokerError: no answer in time, such as for a stream that is not there.
    """
    body = json.dumps({"seq": after + 1, "next_by_subj": pattern}).encode()

    async def once(try_s: float) -> Answer:
        return await connection.ask(f"$JS.API.DIRECT.GET.{stream}", body, try_s)

    answer = await until_answered(once, OPERATION_TIMEOUT_S)
    if answer.status == _NOT_FOUND:
        return None
    if answer.status:
        raise BrokerRefusedError(f"reading stream {stream}: {answer.status} {answer.description}")
    headers = {name: value for name, value in answer.headers.items() if not name.startswith("Nats-")}
    return StoredMessage(answer.headers["Nats-Subject"], int(answer.headers["Nats-Sequence"]), answer.body, headers)
