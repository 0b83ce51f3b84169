"""The one retry layer: a total budget, what the provider asks to wait, and full jitter."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from toolmesh_contracts.errors import ErrorCode
from toolmesh_executor.models.errors import ModelError, ModelUnavailableError

__all__ = ["within_budget"]

T = TypeVar("T")

_FIRST_PAUSE_S: Final = 0.5
_LONGEST_PAUSE_S: Final = 8.0
_MAX_ATTEMPTS: Final = 6
_LEAST_S: Final = 0.2
"""An attempt that would have less time than this is not begun."""


async def within_budget(attempt: Callable[[], Awaitable[T]], budget_s: float, what: str) -> T:
    """Run `attempt` until it answers, fails for good, or the budget is used up.

    Args:
        attempt: Asks once; a ModelUnavailableError makes it run again.
        budget_s: Seconds for all attempts and the pauses between them.
        what: What is asked, for the message.

    Raises:
        ModelError: it failed for good, or the budget ended; the last reason is in the message.
    """
    ends_at = time.monotonic() + budget_s
    last: ModelUnavailableError | None = None
    for number in range(_MAX_ATTEMPTS):
        try:
            async with asyncio.timeout(max(0.0, ends_at - time.monotonic())):
                return await attempt()
        except TimeoutError:
            break
        except ModelUnavailableError as error:
            last = error
        pause_s = _pause_s(number, last.retry_after_s)
        if number + 1 == _MAX_ATTEMPTS or ends_at - time.monotonic() < pause_s + _LEAST_S:
            raise last
        await asyncio.sleep(pause_s)
    reason = f"; before that: {last.message}" if last is not None else ""
    raise ModelError(
        f"{what} did not answer within {budget_s:.1f} s{reason}",
        code=ErrorCode.DEADLINE_EXCEEDED,
        hint="ask for less, or give the call more time",
    )


def _pause_s(number: int, retry_after_s: float | None) -> float:
    """Return what the provider asked for, a little spread, or full jitter below a doubling limit."""
    limit_s = min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2**number)
    if retry_after_s is not None:
        return retry_after_s + random.uniform(0, limit_s / 4)  # noqa: S311 - not for secrets
    return random.uniform(0, limit_s)  # noqa: S311 - not for secrets
