"""One call under way."""

import asyncio
from collections.abc import AsyncIterator

from toolmesh_client.result import CallResult
from toolmesh_client.supervisor import PublishedCall, Supervisor
from toolmesh_client.waiter import Waiter
from toolmesh_contracts.envelopes.reply import Status

__all__ = ["Call"]


class Call:
    """Handle of a call: its statuses, its one result, its end.

    Dropping the handle, or a cancelled wait for the result, leaves the call running until its deadline; `cancel` and
    `abandon` end it.
    """

    def __init__(self, published: PublishedCall, waiter: Waiter, supervisor: Supervisor) -> None:
        self.invocation = published.invocation
        self.pool = published.pool
        self.tool = published.tool
        self._waiter = waiter
        self._supervisor = supervisor
        self._finished: asyncio.Future[CallResult] = asyncio.get_running_loop().create_future()

    @property
    def done(self) -> bool:
        """Whether the result is there."""
        return self._finished.done()

    def statuses(self) -> AsyncIterator[Status]:
        """Yield statuses as they come and end with the call; for one reader, the newest ones if it is slow."""
        return self._waiter.statuses()

    async def result(self) -> CallResult:
        """Wait for the one result. It comes: at the latest a little after the deadline."""
        return await asyncio.shield(self._finished)

    async def cancel(self, reason: str = "") -> CallResult:
        """Withdraw the call if it is queued, stop it if it is running, and return how it ended.

        It may have ended otherwise in the meantime; then that result is returned.
        """
        self.abandon(reason)
        return await self.result()

    def abandon(self, reason: str = "") -> None:
        """Ask for the call to be cancelled and don't wait for it."""
        if not self.done:
            self._supervisor.cancel(reason)

    def finish(self, result: CallResult) -> None:
        """Hand out the result; only the first one counts. For the client that made this call."""
        if not self._finished.done():
            self._finished.set_result(result)
