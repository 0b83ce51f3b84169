"""Asking again until there is an answer, as while a cluster elects a leader; only for what is safe to repeat."""

import asyncio
import json
import random
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

from toolmesh_broker.errors import (
    BrokerClosedError,
    BrokerTimeoutError,
    BrokerUnreachableError,
    NoRespondersError,
)
from toolmesh_broker.jetstream.requests import Answer

__all__ = ["OPERATION_TIMEOUT_S", "REQUEST_TIMEOUT_S", "decoded", "until_answered"]

OPERATION_TIMEOUT_S: Final = 15.0
REQUEST_TIMEOUT_S: Final = 5.0
_RETRY_FIRST_S = 0.05
_RETRY_MOST_S = 1.0
_LEAST_TRY_S = 0.05
"""A shorter last try would only hide the error of the one before."""
_NOT_READY = frozenset({10008, 10009})
"""The system is temporarily unavailable, or its peers have no leader."""

T = TypeVar("T")


async def until_answered(
    operation: Callable[[float], Awaitable[T]], timeout_s: float, try_s: float = REQUEST_TIMEOUT_S
) -> T:
    """Try an operation that is safe to repeat until it is answered.

    Args:
        operation: Takes the seconds that one try may last.
        timeout_s: Seconds for all tries together.
        try_s: Seconds that one try may last at most.

    Raises:
        NoRespondersError, BrokerTimeoutError, BrokerUnreachableError: the last try's error when the time is over.
    """
    deadline = time.monotonic() + timeout_s
    pause = _RETRY_FIRST_S
    while True:
        left = deadline - time.monotonic()
        try:
            return await operation(max(_LEAST_TRY_S, min(left, try_s)))
        except BrokerClosedError:
            raise
        except (NoRespondersError, BrokerTimeoutError, BrokerUnreachableError):
            left = deadline - time.monotonic() - _LEAST_TRY_S
            if left <= 0:
                raise
        await asyncio.sleep(min(left, random.uniform(0, pause)))  # noqa: S311 - jitter
        pause = min(_RETRY_MOST_S, pause * 2)


def decoded(answer: Answer) -> dict[str, Any]:
    """Read an answer; that JetStream is not ready yet, as after a restart, counts as none.

    Raises:
        NoRespondersError: JetStream is not ready.
    """
    decoded: dict[str, Any] = json.loads(answer.body)
    if decoded.get("error", {}).get("err_code") in _NOT_READY:
        raise NoRespondersError("JetStream")
    return decoded
