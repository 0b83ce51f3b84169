"""Confirm or store: a result is with its executor, or kept, before its call leaves the queue."""

import asyncio
import contextlib
import itertools
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Final

from toolmesh_broker.errors import (
    BrokerClosedError,
    BrokerError,
    BrokerTimeoutError,
    BrokerUnreachableError,
    NoRespondersError,
    QueueFullError,
)
from toolmesh_broker.ports import Broker, Delivery
from toolmesh_broker.reply_sender import ReplySender
from toolmesh_broker.results import StoredResults
from toolmesh_contracts.call_steps import CallObserver, CallStep, observe_nothing
from toolmesh_contracts.envelopes.invocation import Invocation
from toolmesh_contracts.envelopes.reply import Result
from toolmesh_runtime.metrics import WorkerMetrics
from toolmesh_telemetry.logs import get_logger

__all__ = ["Settlement"]

_log: Final = get_logger(__name__)
_CONFIRM_S: Final = 5.0
_RETRY_S: Final = (0.1, 0.3, 1.0, 2.0)
_ACK_TRIES: Final = 5
_REMEMBERED: Final = 10_000
_PASSING: Final = (BrokerUnreachableError, BrokerTimeoutError, NoRespondersError, QueueFullError)
"""What a broker that comes back, or a disk that is freed, cures; other errors stay as they are."""


class Settlement:
    """Delivers results; remembers the calls it has settled, in case an acknowledgement is lost."""

    def __init__(
        self, broker: Broker, worker: str, metrics: WorkerMetrics, observer: CallObserver = observe_nothing
    ) -> None:
        self._broker = broker
        self._worker = worker
        self._results = StoredResults(broker)
        self._metrics = metrics
        self._observer = observer
        self._settled: OrderedDict[str, None] = OrderedDict()

    async def is_settled(self, invocation: Invocation) -> bool:
        """Tell whether the call has its result already; one that is only stored is sent to the executor again.

        Raises:
            BrokerError: unknown, because the broker doesn't answer.
        """
        if invocation.id in self._settled:
            return True
        stored = await self._results.read(invocation.pool, invocation.id)
        if stored is None:
            return False
        await self.sender(invocation, stored.attempt).result(stored, timeout_s=_CONFIRM_S)
        return True

    def sender(self, invocation: Invocation, attempt: int) -> ReplySender:
        """Return a sender for a call that no run answers."""
        return ReplySender(self._broker, invocation.pool, invocation.executor, invocation.id, attempt, self._worker)

    async def settle(self, delivery: Delivery, invocation: Invocation, result: Result, sender: ReplySender) -> None:
        """Deliver a result and take its call out of the queue; goes on trying while the broker is away."""
        await self.deliver(invocation, result, sender)
        self._settled[invocation.id] = None
        if len(self._settled) > _REMEMBERED:
            self._settled.popitem(last=False)

        async def acknowledge() -> None:
            try:
                await delivery.ack()
            except BrokerTimeoutError:
                # A broker that was killed may have forgotten the delivery and never answers; trying on would keep the
                # slot. The call may come again, to another worker too: that one answers what is stored.
                await self._results.store(invocation.pool, result, deadline_ms=invocation.deadline_ms)

        # Without an acknowledgement the call comes again, and is known to be settled.
        with contextlib.suppress(BrokerError):
            await _persistently(acknowledge, tries=_ACK_TRIES)
            await self._observer(CallStep.ACKED, invocation.id)

    async def deliver(self, invocation: Invocation, result: Result, sender: ReplySender) -> None:
        """Have the executor confirm a result, or store it; goes on trying while the broker is away."""

        async def confirm_or_store() -> None:
            if await sender.result(result, timeout_s=_CONFIRM_S):
                await self._observer(CallStep.RESULT_CONFIRMED, invocation.id)
                return
            first = await self._results.store(invocation.pool, result, deadline_ms=invocation.deadline_ms)
            self._metrics.stored.inc()
            _log.info("result stored, nobody confirmed it", invocation=invocation.id, first=first)
            await self._observer(CallStep.RESULT_STORED, invocation.id)

        await _persistently(confirm_or_store)


async def _persistently(operation: Callable[[], Awaitable[None]], tries: int | None = None) -> None:
    for number in itertools.count(1):
        try:
            await operation()
        except _PASSING as error:
            if number == tries or isinstance(error, BrokerClosedError):
                raise
            _log.warning("the broker did not take it, trying again", reason=str(error))
            await asyncio.sleep(_RETRY_S[min(number, len(_RETRY_S)) - 1])
        else:
            return
