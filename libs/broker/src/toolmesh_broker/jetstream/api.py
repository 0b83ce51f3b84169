"""The JetStream API: administrative requests and acknowledged publishes, with errors as types."""

import asyncio
import json
import random
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeVar

from toolmesh_broker.errors import (
    BrokerClosedError,
    BrokerError,
    BrokerRefusedError,
    BrokerTimeoutError,
    BrokerUnreachableError,
    NoRespondersError,
    QueueFullError,
    RevisionConflictError,
)
from toolmesh_broker.jetstream.connection import Connection
from toolmesh_broker.jetstream.requests import Answer
from toolmesh_broker.ports import PublishReceipt
from toolmesh_contracts.headers import EXPECTED_LAST_SUBJECT_SEQUENCE, MESSAGE_ID

__all__ = ["ApiError", "api_request", "fresh_id", "publish_acknowledged", "until_answered"]

REQUEST_TIMEOUT_S: Final = 5.0
OPERATION_TIMEOUT_S: Final = 15.0
_RETRY_FIRST_S = 0.05
_RETRY_MOST_S = 1.0
_LEAST_TRY_S = 0.05
"""A shorter last try would only hide the error of the one before."""
_EXPECTED_STREAM = "Nats-Expected-Stream"

_WRONG_LAST_SEQUENCE = frozenset({10071, 10164})
_NOT_READY = frozenset({10008, 10009})
"""The system is temporarily unavailable, or its peers have no leader."""
_FULL = frozenset({10023, 10047, 10077, 10027, 10028})
"""Insufficient resources, no storage left, a stream limit, too many streams or consumers."""

T = TypeVar("T")


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


async def until_answered(operation: Callable[[float], Awaitable[T]], timeout_s: float) -> T:
    """Try an operation that is safe to repeat until it is answered.

    Args:
        operation: Takes the seconds that one try may last.
        timeout_s: Seconds for all tries together.

    Raises:
        NoRespondersError, BrokerTimeoutError, BrokerUnreachableError: the last try's error when the time is over.
    """
    deadline = time.monotonic() + timeout_s
    pause = _RETRY_FIRST_S
    while True:
        left = deadline - time.monotonic()
        try:
            return await operation(max(_LEAST_TRY_S, min(left, REQUEST_TIMEOUT_S)))
        except BrokerClosedError:
            raise
        except (NoRespondersError, BrokerTimeoutError, BrokerUnreachableError):
            left = deadline - time.monotonic() - _LEAST_TRY_S
            if left <= 0:
                raise
        await asyncio.sleep(min(left, random.uniform(0, pause)))  # noqa: S311 - jitter
        pause = min(_RETRY_MOST_S, pause * 2)


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
        return _decoded(await connection.ask(f"$JS.API.{operation}", encoded, try_s))

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
        return _decoded(await connection.ask(subject, body, try_s, complete))

    answer = await until_answered(once, timeout_s)
    if error := answer.get("error"):
        raise _publish_error(subject, complete, ApiError(f"a message to {subject}", error))
    return PublishReceipt(str(answer["stream"]), int(answer["seq"]), bool(answer.get("duplicate", False)))


def _decoded(answer: Answer) -> dict[str, Any]:
    """Read an answer; that JetStream is not ready yet, as after a restart, counts as none."""
    decoded: dict[str, Any] = json.loads(answer.body)
    if decoded.get("error", {}).get("err_code") in _NOT_READY:
        raise NoRespondersError("JetStream")
    return decoded


def _publish_error(subject: str, headers: Mapping[str, str], error: ApiError) -> BrokerError:
    if error.error_code in _WRONG_LAST_SEQUENCE:
        return RevisionConflictError(subject, int(headers.get(EXPECTED_LAST_SUBJECT_SEQUENCE, "0")))
    if error.error_code in _FULL:
        return QueueFullError(
            f"the queue of {subject} is full: {error.description}", hint="try again later, or start more workers"
        )
    return error
