"""Calls that wait on the worker itself until their tenant may have one more, without a slot."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

from toolmesh_broker.errors import BrokerError
from toolmesh_broker.ports import Delivery
from toolmesh_telemetry.logs import get_logger

__all__ = ["PostponedCalls"]

_log: Final = get_logger(__name__)
_RENEW_S: Final = 2.0
"""Well within the queue's ack_wait."""


@dataclass(slots=True)
class PostponedCalls:
    """Deliveries by tenant, in order, kept from being delivered again.

    Attributes:
        most: Calls kept at once.
        renew_s: Seconds between renewals.
    """

    most: int
    renew_s: float = _RENEW_S
    _waiting: dict[str, deque[Delivery]] = field(default_factory=dict)
    _count: int = 0

    def keep(self, tenant: str, delivery: Delivery) -> bool:
        """Keep a delivery; False if there is no room for it."""
        waiting = self._waiting.get(tenant, deque())
        for place, kept in enumerate(waiting):
            if kept.sequence == delivery.sequence:
                # A renewal was lost: only the later delivery can be settled.
                waiting[place] = delivery
                return True
        if self._count >= self.most:
            return False
        waiting.append(delivery)
        self._waiting[tenant] = waiting
        self._count += 1
        return True

    def take(self, tenant: str) -> Delivery | None:
        """Return the tenant's first delivery, which is kept no longer; None if there is none."""
        if (waiting := self._waiting.get(tenant)) is None:
            return None
        delivery = waiting.popleft()
        self._count -= 1
        if not waiting:
            del self._waiting[tenant]
        return delivery

    async def renew(self) -> None:
        """Start ack_wait anew for all, again and again, until cancelled."""
        while True:
            await asyncio.sleep(self.renew_s)
            await self._each(lambda delivery: delivery.in_progress())

    async def hand_back(self) -> None:
        """Give all of them back to the queue."""
        await self._each(lambda delivery: delivery.nak())
        self._waiting.clear()
        self._count = 0

    async def _each(self, act: Callable[[Delivery], Awaitable[None]]) -> None:
        async def once(delivery: Delivery) -> None:
            try:
                await act(delivery)
            except BrokerError as error:
                _log.warning("a postponed call comes again", subject=delivery.subject, reason=str(error))

        await asyncio.gather(*(once(delivery) for waiting in self._waiting.values() for delivery in waiting))
