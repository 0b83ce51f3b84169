"""What one call has heard: the statuses to show, and *the* result."""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator

from toolmesh_contracts.envelopes.reply import Result, Status

__all__ = ["Waiter"]


class Waiter:
    """Keeps a call's newest statuses and its first result.

    Statuses wait in a bounded queue, from which the oldest are dropped: a slow reader costs no memory.
    """

    def __init__(self, *, status_capacity: int) -> None:
        self.signs_of_life = 0
        """How many messages came; tells whether anything was heard since the last look."""
        self.attention = asyncio.Event()
        """Set when whoever looks after the call has something to do."""
        self._statuses: deque[Status] = deque(maxlen=status_capacity)
        self._result: Result | None = None
        self._changed = asyncio.Event()
        self._ended = asyncio.Event()

    @property
    def result(self) -> Result | None:
        """The result, once there is one."""
        return self._result

    def take_status(self, status: Status) -> None:
        """Show a status, unless the call has ended."""
        if self._result is not None:
            return
        self.signs_of_life += 1
        self._statuses.append(status)
        self._changed.set()

    def settle(self, result: Result) -> bool:
        """End the call with `result`; False if it has ended before, and then nothing changes."""
        if self._result is not None:
            return False
        self._result = result
        self._changed.set()
        self._ended.set()
        return True

    async def wait(self) -> Result:
        """Return the result once the call has ended."""
        await self._ended.wait()
        assert self._result is not None  # noqa: S101 - the event is set only with a result
        return self._result

    async def attention_within(self, seconds: float) -> None:
        """Wait until there is something to do, at most `seconds`."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(max(seconds, 0)):
                await self.attention.wait()
        self.attention.clear()

    async def statuses(self) -> AsyncIterator[Status]:
        """Yield statuses as they come; end with the call. For one reader."""
        while True:
            while self._statuses:
                yield self._statuses.popleft()
            if self._result is not None:
                return
            self._changed.clear()
            await self._changed.wait()
