"""What happens to one delivery, step by step, from the queue to its one result."""

import asyncio
import contextlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, NamedTuple

from toolmesh_broker.dead_letters import bury
from toolmesh_broker.errors import BrokerError, LeaseLostError
from toolmesh_broker.ledger import Claim, ClaimState, Lease, Ledger
from toolmesh_broker.ports import Broker, Delivery
from toolmesh_broker.reply_sender import ReplySender, replying
from toolmesh_contracts.call_steps import CallObserver, CallStep, observe_nothing
from toolmesh_contracts.envelopes.invocation import Invocation
from toolmesh_contracts.envelopes.ledger import LedgerEntry
from toolmesh_contracts.envelopes.reply import Result
from toolmesh_contracts.errors import ErrorCode
from toolmesh_contracts.headers import MESSAGE_ID
from toolmesh_runtime.admission import AdmittedCall, CallRefusedError, Verifier, require_scopes
from toolmesh_runtime.direct_delivery import DirectDelivery
from toolmesh_runtime.handed_back import HandedBack
from toolmesh_runtime.lease_keeper import LeaseKeeper
from toolmesh_runtime.metrics import WorkerMetrics
from toolmesh_runtime.outcome import failed_result
from toolmesh_runtime.running_calls import RunningCall, RunningCalls
from toolmesh_runtime.settlement import Settlement
from toolmesh_runtime.tool_calls import ToolCalls
from toolmesh_runtime.toolsets.discovery import Discovery
from toolmesh_runtime.toolsets.loaded_tool import LoadedTool
from toolmesh_telemetry import tracing
from toolmesh_telemetry.logs import get_logger

__all__ = ["CallHandler"]

_log: Final = get_logger(__name__)
_HAND_BACK_S: Final = 1.0
_NOT_AVAILABLE_AFTER_S: Final = 30.0
"""A call that no worker of the pool can run waits this long for one that can."""
_POISON_AFTER_DELIVERIES: Final = 3
_UNKNOWN: Final = "whether the tool's effects happened is unknown"


class _Taken(NamedTuple):
    """The right to run a call, and until when it is granted, by the monotonic clock."""

    lease: Lease
    valid_until: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CallHandler:
    """Deals with deliveries; one object serves all of a worker's slots."""

    worker: str
    broker: Broker
    verifier: Verifier
    discovery: Discovery
    ledger: Ledger
    settlement: Settlement
    tool_calls: ToolCalls
    calls: RunningCalls
    metrics: WorkerMetrics
    lease_s: float
    renew_s: float
    handed_back: HandedBack = field(default_factory=HandedBack)
    observer: CallObserver = observe_nothing

    async def handle(self, delivery: Delivery) -> None:
        """Settle one delivery, or leave it to come again.

        An unreachable broker is no error: the call comes again, to this worker or another.
        """
        started = time.monotonic()
        await self.observer(CallStep.PULLED, delivery.headers.get(MESSAGE_ID, ""))
        try:
            call = self.verifier.admit(delivery, time.time())
        except CallRefusedError as refusal:
            await self._refuse(delivery, refusal)
            return
        await self.observer(CallStep.ADMITTED, call.invocation.id)
        with tracing.bound(tracing.child(call.headers.traceparent)):
            try:
                await self._admitted(delivery, call)
            except CallRefusedError as refusal:
                await self._refuse(delivery, refusal)
            except BrokerError as error:
                _log.warning("call left to redelivery", invocation=call.invocation.id, reason=str(error))
            except Exception:  # noqa: BLE001 - top handler of a delivery: one call's fault must not end the others
                _log.exception("a delivery failed in a way nobody foresaw", invocation=call.invocation.id)
                if delivery.delivered >= _POISON_AFTER_DELIVERIES:
                    message = "workers failed on this call again and again; their logs have the details"
                    poison = CallRefusedError(ErrorCode.INTERNAL_ERROR, message, invocation=call.invocation)
                    await self._refuse(delivery, poison)
        self.metrics.seconds.labels(self._label(call.invocation.tool)).observe(time.monotonic() - started)

    async def _admitted(self, delivery: Delivery, call: AdmittedCall) -> None:
        """Decide first by what is known of the call: a run elsewhere counts, whatever this worker can do."""
        invocation = call.invocation
        if await self.settlement.is_settled(invocation):
            await delivery.ack()
            return
        claim = await self.ledger.look(invocation.pool, invocation.id)
        if claim.state is ClaimState.LIVE:
            await self._leave(delivery)
            return
        if claim.state is ClaimState.CANCELLED and claim.entry is not None:
            await self._answer_cancelled(delivery, invocation, claim.entry)
            return
        tool = self.discovery.served(invocation.tool, invocation.tool_version)
        if claim.entry is not None and not _may_run_again(claim.entry, tool, invocation):
            await self._answer_lost(delivery, invocation, claim.entry)
            return
        if tool is None:
            await self._hand_back(delivery, invocation, claim.entry)
            return
        require_scopes(call, tool.manifest.required_scopes)
        config, secrets = self.verifier.open_config(invocation)
        if invocation.deadline_ms <= _now_ms():
            message = "the call's deadline passed before a worker was free"
            await self._fail(delivery, invocation, 0, ErrorCode.DEADLINE_EXCEEDED, message)
            return
        taken = await self._take(invocation, claim)
        if taken is None:
            await self._leave(delivery)
            return
        if invocation.deadline_ms <= _now_ms():
            await taken.lease.hand_back()
            message = "the call's deadline passed before the ledger had granted its run"
            await self._fail(delivery, invocation, 0, ErrorCode.DEADLINE_EXCEEDED, message)
            return
        await self._run(delivery, call, tool, taken, config, secrets)

    async def _take(self, invocation: Invocation, claim: Claim) -> _Taken | None:
        """Take the ledger's key; None if someone else was quicker.

        Raises:
            LeaseLostError: someone else has found the lease dead, because the ledger answered so late.
            BrokerError: the ledger does not answer; where it can, it is told that nothing has run.
        """
        asked_at = time.monotonic()
        lease = await self.ledger.take(
            invocation.pool,
            invocation.id,
            claim,
            worker=self.worker,
            deadline_ms=invocation.deadline_ms,
            lease_s=self.lease_s,
        )
        if lease is None:
            return None
        # A lease counts from the question. No tool may start on one that others see run out.
        while time.monotonic() - asked_at > self.renew_s and invocation.deadline_ms > _now_ms():
            asked_at = time.monotonic()
            try:
                await lease.renew(self.lease_s)
            except LeaseLostError:
                raise
            except BrokerError:
                with contextlib.suppress(BrokerError):
                    await lease.hand_back()
                raise
        return _Taken(lease, asked_at + self.lease_s)

    async def _leave(self, delivery: Delivery) -> None:
        self.metrics.handed_back.labels("lease").inc()
        await delivery.nak(self.renew_s)

    async def _answer_cancelled(self, delivery: Delivery, invocation: Invocation, entry: LedgerEntry) -> None:
        if entry.attempt:
            # Written by whoever found the worker dead: see _answer_lost.
            await self._fail(delivery, invocation, entry.attempt, ErrorCode.WORKER_LOST, entry.reason or _UNKNOWN)
            return
        message = f"the call was cancelled: {entry.reason}" if entry.reason else "the call was cancelled"
        await self._fail(delivery, invocation, 0, ErrorCode.CANCELLED, message)

    async def _answer_lost(self, delivery: Delivery, invocation: Invocation, entry: LedgerEntry) -> None:
        """Answer for a dead worker, once the ledger says that it can't come back to life."""
        message = f"worker {entry.worker} died during the call; {_UNKNOWN}"
        decided = await self.ledger.cancel(
            invocation.pool, invocation.id, deadline_ms=invocation.deadline_ms, reason=message
        )
        if decided.state is ClaimState.CANCELLED:
            await self._fail(delivery, invocation, entry.attempt, ErrorCode.WORKER_LOST, message)
        else:
            await self._leave(delivery)

    async def _run(
        self,
        delivery: Delivery,
        call: AdmittedCall,
        tool: LoadedTool,
        taken: _Taken,
        config: Mapping[str, Any],
        secrets: tuple[str, ...],
    ) -> None:
        invocation, lease = call.invocation, taken.lease
        await self.observer(CallStep.TAKEN, invocation.id)
        if isinstance(delivery, DirectDelivery):
            await delivery.taken()
        renewed = partial(self.observer, CallStep.RENEWED, invocation.id)
        keeper = LeaseKeeper(lease, delivery, self.lease_s, self.renew_s, taken.valid_until, renewed)
        replies = replying(
            self.broker,
            pool=invocation.pool,
            executor=invocation.executor,
            invocation=invocation.id,
            attempt=lease.attempt,
            worker=self.worker,
        )
        with self.calls.running(invocation.id, invocation.executor) as running:
            try:
                async with replies as sender, asyncio.TaskGroup() as group:
                    keeping = group.create_task(keeper.keep())
                    task = group.create_task(self.tool_calls.run(call, tool, sender, config, secrets, lease.attempt))
                    running.attach(task)
                    result = await self._ended(task, running, invocation, lease.attempt)
                    keeper.settling = True
                    await self.observer(CallStep.ENDED, invocation.id)
                    await self._settle(delivery, invocation, result, sender)
                    keeping.cancel()
            except* LeaseLostError as lost:
                # Another worker, or a cancel, owns the call now: whatever this one knows of it is void.
                _log.warning("call given up", invocation=invocation.id, reason=str(lost.exceptions[0]))

    async def _ended(
        self, task: "asyncio.Task[Result]", running: RunningCall, invocation: Invocation, attempt: int
    ) -> Result:
        """Wait for a run; one that was stopped from outside has the result that its stopper gave."""
        await asyncio.wait({task})
        if not task.cancelled():
            return task.result()
        if running.stopped is None:
            raise asyncio.CancelledError
        return failed_result(invocation, self.worker, attempt, running.stopped.code, running.stopped.message)

    async def _hand_back(self, delivery: Delivery, invocation: Invocation, entry: LedgerEntry | None) -> None:
        """Leave the call to a worker that has the tool; after 30 s of meeting it again and again there is none."""
        if self.handed_back.for_longer_than(invocation.id, _NOT_AVAILABLE_AFTER_S):
            if entry is not None:
                await self._answer_lost(delivery, invocation, entry)
                return
            version = f" in version {invocation.tool_version[:12]}" if invocation.tool_version else ""
            message = f"no worker of pool {invocation.pool!r} serves tool {invocation.tool!r}{version}"
            await self._fail(delivery, invocation, 0, ErrorCode.TOOL_NOT_AVAILABLE, message)
            return
        self.metrics.handed_back.labels("tool").inc()
        await delivery.nak(_HAND_BACK_S)

    async def _refuse(self, delivery: Delivery, refusal: CallRefusedError) -> None:
        """Tell the caller, if it is known to be one, and move the message to the dead letters."""
        invocation = refusal.invocation
        _log.warning(
            "call refused",
            code=refusal.code,
            reason=refusal.message,
            subject=delivery.subject,
            invocation=invocation.id if invocation else None,
        )
        self.metrics.calls.labels(self._label(invocation.tool if invocation else ""), "refused", refusal.code).inc()
        try:
            if invocation is not None:
                result = failed_result(invocation, self.worker, 0, refusal.code, refusal.message, hint=refusal.hint)
                await self.settlement.deliver(invocation, result, self.settlement.sender(invocation, 0))
            await bury(
                self.broker,
                self.verifier.pool,
                delivery,
                code=refusal.code,
                reason=refusal.message,
                worker=self.worker,
                invocation=invocation,
            )
        except BrokerError as error:
            _log.warning("refused call left to redelivery", subject=delivery.subject, reason=str(error))

    async def _fail(
        self, delivery: Delivery, invocation: Invocation, attempt: int, code: ErrorCode, message: str
    ) -> None:
        result = failed_result(invocation, self.worker, attempt, code, message)
        await self._settle(delivery, invocation, result, self.settlement.sender(invocation, attempt))

    async def _settle(self, delivery: Delivery, invocation: Invocation, result: Result, sender: ReplySender) -> None:
        code = result.error.code if result.error else ""
        self.metrics.calls.labels(self._label(result.tool), result.outcome, code).inc()
        _log.info(
            "call ended",
            invocation=invocation.id,
            tool=result.tool,
            outcome=result.outcome,
            code=code,
            attempt=result.attempt,
            user=invocation.caller.user,
            agent=invocation.caller.agent,
            wall_ms=result.usage.wall_ms if result.usage else None,
        )
        await self.settlement.settle(delivery, invocation, result, sender)

    def _label(self, tool: str) -> str:
        """Return what metrics call a tool: only names that are served, as a caller can think of any number."""
        return tool if self.discovery.served(tool, None) is not None else ""


def _may_run_again(entry: LedgerEntry, tool: LoadedTool | None, invocation: Invocation) -> bool:
    """Tell whether a call whose worker died may have another run; a worker without the tool leaves that open."""
    if invocation.deadline_ms <= _now_ms():
        return False
    if tool is None:
        return True
    return tool.manifest.idempotent and entry.attempt < tool.manifest.max_attempts


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
