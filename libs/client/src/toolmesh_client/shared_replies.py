"""Replies to an executor id that several processes use at once."""

import contextlib
from collections.abc import AsyncIterator

from toolmesh_broker.ports import Broker
from toolmesh_broker.reply_listener import PendingCall, ReplyListener

__all__ = ["SharedReplies"]


class SharedReplies(ReplyListener):
    """Hears the replies to its own calls only, call by call.

    Under one subscription for all calls each process would get the other ones' results too, and refuse them before the
    process that waits for them could confirm.
    """

    @classmethod
    @contextlib.asynccontextmanager
    async def open(cls, broker: Broker, executor: str) -> AsyncIterator["SharedReplies"]:
        """Be ready to listen inside the block."""
        yield cls(broker, executor)

    @contextlib.asynccontextmanager
    async def expect(self, pool: str, invocation: str) -> AsyncIterator[PendingCall]:
        """Listen for a call's replies inside the block; see `ReplyListener.expect`.

        Raises:
            BrokerError: the broker does not take the subscription; nothing was published yet.
        """
        subject = self._subjects.reply(pool, self._executor, invocation)
        async with self._broker.subscribe(subject, self._receive), super().expect(pool, invocation) as call:
            yield call
