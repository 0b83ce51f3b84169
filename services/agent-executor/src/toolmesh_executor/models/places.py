"""Places at the providers: how many questions are with them at a time, in all and of one call."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final

from toolmesh_contracts.errors import ErrorCode
from toolmesh_executor.models.errors import ModelError

__all__ = ["Places"]

_SHARE: Final = 4
"""One call has at most one in so many places, so that calls which ask much leave room for others."""


@dataclass(slots=True)
class _OfCall:
    free: asyncio.Semaphore
    users: int = 0


class Places:
    """The places of one executor.

    Args:
        total: How many there are.
    """

    def __init__(self, total: int) -> None:
        self._total = total
        self._free = asyncio.Semaphore(total)
        self._calls: dict[tuple[str, str], _OfCall] = {}

    @contextlib.asynccontextmanager
    async def held(self, pool: str, invocation: str, until: float) -> AsyncIterator[None]:
        """Hold a place during the block; wait for it until `until`, Unix time in seconds.

        Raises:
            ModelError: none was free all the time.
        """
        async with self._of_call(pool, invocation) as of_call, contextlib.AsyncExitStack() as held:
            try:
                async with asyncio.timeout(max(0.0, until - time.time())):
                    await held.enter_async_context(of_call)
                    await held.enter_async_context(self._free)
            except TimeoutError as error:
                raise ModelError(
                    "all places for questions of this call were taken all the time",
                    code=ErrorCode.RESOURCE_EXHAUSTED,
                    hint="try again later, or ask fewer at a time",
                ) from error
            yield

    @contextlib.asynccontextmanager
    async def _of_call(self, pool: str, invocation: str) -> AsyncIterator[asyncio.Semaphore]:
        """Return the places of a call, which are forgotten when none of its questions is there."""
        key = (pool, invocation)
        places = self._calls.setdefault(key, _OfCall(asyncio.Semaphore(max(1, self._total // _SHARE))))
        places.users += 1
        try:
            yield places.free
        finally:
            places.users -= 1
            if not places.users:
                del self._calls[key]
