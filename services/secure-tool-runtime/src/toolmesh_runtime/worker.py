"""The worker: takes as many calls as it has slots, until it is asked to stop."""

import asyncio
import contextlib
import time
from dataclasses import dataclass, field
from typing import Final

from toolmesh_broker.errors import BrokerError
from toolmesh_broker.ports import Broker, Delivery, Intake, Message
from toolmesh_contracts.envelopes.invocation import Cancel
from toolmesh_contracts.errors import ErrorCode, ToolmeshError
from toolmesh_contracts.headers import SCHEMA
from toolmesh_contracts.names import NO_AGENT, tenant_token
from toolmesh_contracts.wire import decode
from toolmesh_runtime.admission import CallRefusedError
from toolmesh_runtime.direct_delivery import DirectDelivery
from toolmesh_runtime.one_call import CallHandler
from toolmesh_runtime.postponed_calls import PostponedCalls
from toolmesh_runtime.running_calls import RunningCalls, StopReason
from toolmesh_runtime.running_tenants import RunningTenants
from toolmesh_telemetry.logs import get_logger

__all__ = ["Worker"]

_log: Final = get_logger(__name__)
_KILL_S: Final = 10.0
_KEPT_PER_SLOT: Final = 8
"""Calls of full tenants that wait here; more go back to the queue."""
_FULL_TENANT_S: Final = 1.0
_FULL_TENANT_MOST_S: Final = 30.0
_REST_S: Final = 0.05
"""Behind a tenant's call that may not run now there often are more of it."""
_STOPPED: Final = StopReason(
    ErrorCode.WORKER_LOST, "the worker was stopped during the call; whether the tool's effects happened is unknown"
)


@dataclass(slots=True, kw_only=True)
class Worker:
    """Pulls and drains.

    Attributes:
        slots: Calls at once.
        tenants: How many calls one tenant may have at once.
        drain_s: Seconds that running calls may go on after a stop was asked for.
        draining: It takes nothing more.
    """

    name: str
    pool: str
    slots: int
    drain_s: float
    broker: Broker
    handler: CallHandler
    calls: RunningCalls
    tenants: RunningTenants = field(default_factory=RunningTenants)
    draining: bool = False
    _tasks: set["asyncio.Task[None]"] = field(default_factory=set)
    _intake: Intake | None = None
    _postponed: PostponedCalls = field(init=False)

    def __post_init__(self) -> None:
        self._postponed = PostponedCalls(_KEPT_PER_SLOT * self.slots)

    @property
    def busy(self) -> int:
        """Slots in use."""
        return len(self._tasks)

    async def run(self, stop: asyncio.Event) -> None:
        """Take and run calls until `stop` is set; then hand back what waits, and let what runs come to its end."""
        control = self.broker.subjects.control(self.pool, self.name)
        direct = self.broker.subjects.direct(self.pool, self.name)

        async def on_direct(message: Message) -> None:
            delivery = DirectDelivery(message)
            tenant = self._direct_tenant(delivery)
            if self.draining or self.busy >= self.slots or self.tenants.full(tenant):
                await delivery.nak()
            else:
                self._start(group, delivery, tenant)

        async with (
            asyncio.TaskGroup() as group,
            self.broker.subscribe(control, self._on_control),
            self.broker.subscribe(direct, on_direct),
        ):
            taking = [group.create_task(self._pull(group))]
            if self.tenants.capped:
                taking.append(group.create_task(self._postponed.renew()))
            await stop.wait()
            self.draining = True
            for task in taking:
                task.cancel()
            await asyncio.wait(taking)
            await self._postponed.hand_back()
            await self._drain()

    def _direct_tenant(self, delivery: DirectDelivery) -> str:
        """Return the tenant as it is proven by the call, since the subject of a direct one names the worker."""
        if not self.tenants.capped:
            return ""
        try:
            caller = self.handler.verifier.admit(delivery, time.time()).invocation.caller
        except CallRefusedError:
            return ""  # nobody's: it is started to be refused
        return tenant_token(caller.agent or NO_AGENT, caller.user)

    async def _pull(self, group: asyncio.TaskGroup) -> None:
        async with self.broker.consume(self.pool, lambda: self.slots - len(self._tasks)) as intake:
            self._intake = intake
            async for delivery in intake:
                tenant = _tenant(delivery)
                if self.tenants.full(tenant):
                    await self._postpone(intake, delivery, tenant)
                else:
                    self._start(group, delivery, tenant)

    async def _postpone(self, intake: Intake, delivery: Delivery, tenant: str) -> None:
        if self._postponed.keep(tenant, delivery):
            return
        self.handler.metrics.handed_back.labels("tenant").inc()
        intake.rest(delivery, _REST_S)
        # One that can't be handed back comes again after ack_wait.
        with contextlib.suppress(BrokerError):
            # Later each time: calls that are due again go before others of their shard that are new.
            await delivery.nak(min(_FULL_TENANT_S * 2 ** min(delivery.delivered - 1, 10), _FULL_TENANT_MOST_S))

    def _start(self, group: asyncio.TaskGroup, delivery: Delivery, tenant: str) -> None:
        def done(task: "asyncio.Task[None]") -> None:
            self._tasks.discard(task)
            self.tenants.remove(tenant)
            if not self.draining and (waiting := self._postponed.take(tenant)) is not None:
                self._start(group, waiting, tenant)
            if self._intake is not None:
                self._intake.wake()

        # Counted before the task runs: the next delivery may be looked at first.
        self.tenants.add(tenant)
        task = group.create_task(self._guarded(delivery))
        self._tasks.add(task)
        task.add_done_callback(done)

    async def _guarded(self, delivery: Delivery) -> None:
        try:
            await self.handler.handle(delivery)
        except Exception:  # noqa: BLE001 - top handler of a delivery
            # One call's fault must not end the others; this one comes again.
            _log.exception("a delivery failed in a way nobody foresaw", subject=delivery.subject)

    async def _drain(self) -> None:
        if not self._tasks:
            return
        _log.info("draining", calls=len(self._tasks), seconds=self.drain_s)
        _, late = await asyncio.wait(self._tasks, timeout=self.drain_s)
        if not late:
            return
        self.calls.stop_all(_STOPPED)
        _, stuck = await asyncio.wait(late, timeout=_KILL_S)
        for task in stuck:
            task.cancel()

    async def _on_control(self, message: Message) -> None:
        try:
            cancel = decode(Cancel, message.body, message.headers.get(SCHEMA, ""))
        except ToolmeshError as error:
            _log.warning("a control message can't be read", reason=str(error))
            return
        call = self.calls.get(cancel.invocation)
        if call is not None and call.executor == cancel.executor:
            why = f": {cancel.reason}" if cancel.reason else ""
            told = f"the call was cancelled{why}; the tool had started, its effects may have happened"
            call.stop(StopReason(ErrorCode.CANCELLED, told))


def _tenant(delivery: Delivery) -> str:
    return delivery.subject.rpartition(".")[2]
