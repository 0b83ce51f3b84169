"""Keeps the right to run a call: the ledger's lease and the broker's ack_wait are renewed together."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from toolmesh_broker.errors import BrokerError, LeaseLostError
from toolmesh_broker.ledger import Lease
from toolmesh_broker.ports import Delivery
from toolmesh_telemetry.logs import get_logger

__all__ = ["LeaseKeeper"]

_log: Final = get_logger(__name__)


@dataclass(slots=True)
class LeaseKeeper:
    """Renews until cancelled.

    Attributes:
        valid_until: Until when the ledger has granted the lease, by the monotonic clock.
        on_renewed: Awaited after each renewal.
        settling: The tool has ended: a lost lease no longer matters, because the first result wins.
    """

    lease: Lease
    delivery: Delivery
    lease_s: float
    renew_s: float
    valid_until: float
    on_renewed: Callable[[], Awaitable[None]]
    settling: bool = False

    async def keep(self) -> None:
        """Renew again and again.

        Raises:
            LeaseLostError: the call was cancelled or taken over, or could not be renewed in time, while the tool runs.
        """
        while True:
            await asyncio.sleep(self.renew_s)
            before = time.monotonic()
            left_s = self.renew_s if self.settling else self.valid_until - before
            if left_s <= 0:
                # A renewal now would bring a lease back to life that others may have seen dead.
                raise LeaseLostError("the lease ran out without a broker to renew it")
            try:
                async with asyncio.timeout(left_s):
                    await self.lease.renew(self.lease_s)
                    self.valid_until = before + self.lease_s
                    await self.delivery.in_progress()
            except LeaseLostError:
                if self.settling:
                    return
                raise
            except (BrokerError, TimeoutError) as error:
                _log.warning("lease not renewed", reason=str(error) or "no answer in time")
            else:
                await self.on_renewed()
