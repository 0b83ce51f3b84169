"""What happens to one delivery, step by step, from the queue to its one result."""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from toolmesh_broker.dead_letters import bury
from toolmesh_broker.errors import BrokerError, LeaseLostError
from toolmesh_broker.ledger import ClaimState, Lease, Ledger
from toolmesh_broker.ports import Broker, Delivery
from toolmesh_broker.reply_sender import ReplySender, replying
from toolmesh_contracts.envelopes.invocation import Invocation
from toolmesh_contracts.envelopes.ledger import LedgerEntry
from toolmesh_contracts.envelopes.reply import Result
from toolmesh_contracts.errors import ErrorCode
from toolmesh_contracts.ids import uuid7_milliseconds
from toolmesh_runtime.admission import AdmittedCall, CallRefusedError, Verifier, require_scopes
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
_NOT_AVAILABLE_AFTER_MS: Final = 30_000
"""A call that no worker of the pool can run waits this long for one that can."""
_NOT_AVAILABLE_AFTER_DELIVERIES: Final = 30


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

    async def handle(self, delivery: Delivery) -> None:
        """Settle one delivery, or leave it to come again.

        An unreachable broker is no error: the call comes again, to this worker or another.
        """
        started = time.monotonic()
        try:
            call = self.verifier.admit(delivery, time.time())
        except CallRefusedError as refusal:
            await self._refuse(delivery, refusal)
            return
        with tracing.bound(tracing.child(call.headers.traceparent)):
            try:
                await self._admitted(delivery, call)
            except CallRefusedError as refusal:
                await self._refuse(delivery, refusal)
            except BrokerError as error:
                _log.warning("call left to redelivery", invocation=call.invocation.id, reason=str(error))
        self.metrics.seconds.labels(call.invocation.tool).observe(time.monotonic() - started)

    async def _admitted(self, delivery: Delivery, call: AdmittedCall) -> None:
        invocation = call.invocation
        if await self.settlement.is_settled(invocation):
            await delivery.ack()
            return
        tool = self.discovery.inventory.tools.get(invocation.tool)
        if tool is None or invocation.tool_version not in {None, tool.version}:
            await self._hand_back(delivery, invocation)
            return
        require_scopes(call, tool.manifest.required_scopes)
        config, secrets = self.verifier.open_config(invocation)
        if invocation.deadline_ms <= _now_ms():
            message = "the call's deadline passed before a worker was free"
            await self._fail(delivery, invocation, 0, ErrorCode.DEADLINE_EXCEEDED, message)
            return
        claim = await self.ledger.look(invocation.pool, invocation.id)
        if claim.state is ClaimState.CANCELLED:
            reason = claim.entry.reason if claim.entry is not None else ""
            message = f"the call was cancelled: {reason}" if reason else "the call was cancelled"
            await self._fail(delivery, invocation, 0, ErrorCode.CANCELLED, message)
            return
        if claim.state is ClaimState.DEAD and claim.entry is not None:
            allowed = tool.manifest.max_attempts if tool.manifest.idempotent else 1
            if claim.entry.attempt >= allowed:
                await self._fail(delivery, invocation, claim.entry.attempt, ErrorCode.WORKER_LOST, _lost(claim.entry))
                return
        lease = None
        if claim.state is not ClaimState.LIVE:
            lease = await self.ledger.take(
                invocation.pool,
                invocation.id,
                claim,
                worker=self.worker,
                deadline_ms=invocation.deadline_ms,
                lease_s=self.lease_s,
            )
        if lease is None:
            self.metrics.handed_back.labels("lease").inc()
            await delivery.nak(self.renew_s)
            return
        await self._run(delivery, call, tool, lease, config, secrets)

    async def _run(
        self,
        delivery: Delivery,
        call: AdmittedCall,
        tool: LoadedTool,
        lease: Lease,
        config: Mapping[str, Any],
        secrets: tuple[str, ...],
    ) -> None:
        invocation = call.invocation
        keeper = LeaseKeeper(lease, delivery, self.lease_s, self.renew_s)
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

    async def _hand_back(self, delivery: Delivery, invocation: Invocation) -> None:
        made_ms = uuid7_milliseconds(invocation.id)
        too_old = made_ms is not None and _now_ms() - made_ms > _NOT_AVAILABLE_AFTER_MS
        if too_old or delivery.delivered > _NOT_AVAILABLE_AFTER_DELIVERIES:
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
        self.metrics.calls.labels(invocation.tool if invocation else "", "refused", refusal.code).inc()
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
        self.metrics.calls.labels(result.tool, result.outcome, code).inc()
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


def _lost(entry: LedgerEntry) -> str:
    return f"worker {entry.worker} died during the call; whether the tool's effects happened is unknown"


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
