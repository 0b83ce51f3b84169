"""The JetStream API: administrative requests and acknowledged publishes, with errors as types."""

import json
import secrets
from collections.abc import Mapping
from typing import Any

from toolmesh_broker.errors import (
    BrokerError,
    BrokerRefusedError,
    QueueFullError,
    RevisionConflictError,
)
from toolmesh_broker.jetstream.connection import Connection
from toolmesh_broker.jetstream.retrying import OPERATION_TIMEOUT_S, decoded, until_answered
from toolmesh_broker.ports import PublishReceipt
from toolmesh_contracts.headers import EXPECTED_LAST_SUBJECT_SEQUENCE, MESSAGE_ID

__all__ = ["ApiError", "api_request", "fresh_id", "publish_acknowledged"]

_EXPECTED_STREAM = "Nats-Expected-Stream"

_WRONG_LAST_SEQUENCE = frozenset({10071, 10164})
_FULL = frozenset({10023, 10047, 10077, 10027, 10028})
"""Insufficient resources, no storage left, a stream limit, too many streams or consumers."""


class ApiError(BrokerRefusedError):
    """Raised when the JetStream API answers with an error.

    Attributes:
        status: HTTP-like status.
        error_code: The server's own code, such as 10059 for a missing stream.
    """

    def __init__(self, operation: str, error: Mapping[str, Any]) -> None:
        self.status = int(error.get("code", 0))
        self.error_code = int(error.get("err_code", 0))
        self.description = str(error.get("description", "unknown error"))
        super().__init__(f"the broker refused {operation}: {self.description} ({self.error_code})")


def fresh_id() -> str:
    """Return a random id for one write, so that its retries are dropped by the broker."""
    return secrets.token_urlsafe(12)


async def api_request(
    connection: Connection,
    operation: str,
    body: Mapping[str, Any] | None = None,
    timeout_s: float = OPERATION_TIMEOUT_S,
) -> dict[str, Any]:
    """Call `$JS.API.<operation>`; repeated until answered, so only for what is safe to repeat.

    Raises:
        ApiError: the server refused it.
        BrokerError: no answer in time.
    """
    encoded = json.dumps(body).encode() if body is not None else b""

    async def once(try_s: float) -> dict[str, Any]:
        return decoded(await connection.ask(f"$JS.API.{operation}", encoded, try_s))

    response = await until_answered(once, timeout_s)
    if error := response.get("error"):
        raise ApiError(operation, error)
    return response


async def publish_acknowledged(
    connection: Connection,
    stream: str,
    subject: str,
    body: bytes,
    headers: Mapping[str, str],
    timeout_s: float = OPERATION_TIMEOUT_S,
) -> PublishReceipt:
    """Publish until the stream acknowledges; `headers` must hold the message id that makes a repeat harmless.

    Raises:
        RevisionConflictError: the expected last sequence is another.
        QueueFullError: the stream or the disk is full.
        BrokerRefusedError: refused otherwise, or the subject belongs to another stream.
        NoRespondersError, BrokerTimeoutError, BrokerUnreachableError: not known to be stored when the time is over.
    """
    if MESSAGE_ID not in headers:
        raise ValueError(f"a publish to {subject} has no message id")
    complete = {**headers, _EXPECTED_STREAM: stream}

    async def once(try_s: float) -> dict[str, Any]:
        return decoded(await connection.ask(subject, body, try_s, complete))

    answer = await until_answered(once, timeout_s)
    if error := answer.get("error"):
        raise _publish_error(subject, complete, ApiError(f"a message to {subject}", error))
    return PublishReceipt(str(answer["stream"]), int(answer["seq"]), bool(answer.get("duplicate", False)))


def _publish_error(subject: str, headers: Mapping[str, str], error: ApiError) -> BrokerError:
    if error.error_code in _WRONG_LAST_SEQUENCE:
        return RevisionConflictError(subject, int(headers.get(EXPECTED_LAST_SUBJECT_SEQUENCE, "0")))
    if error.error_code in _FULL:
        return QueueFullError(
            f"the queue of {subject} is full: {error.description}", hint="try again later, or start more workers"
        )
    return error
