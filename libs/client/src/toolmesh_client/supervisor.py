"""Looks after one published call until it has a result: silence, cancel, deadline."""

import asyncio
import logging
import time
from dataclasses import dataclass
from typing import Final

from toolmesh_broker.errors import BrokerError
from toolmesh_broker.ledger import Claim, ClaimState, Ledger
from toolmesh_broker.ports import Broker, PublishReceipt
from toolmesh_broker.results import StoredResults
from toolmesh_client.result import local_result
from toolmesh_client.settings import Patience
from toolmesh_client.waiter import Waiter
from toolmesh_contracts.envelopes.invocation import Cancel
from toolmesh_contracts.errors import ErrorCode, MalformedMessageError, ToolmeshError
from toolmesh_contracts.headers import SCHEMA
from toolmesh_contracts.wire import encode, schema_name

__all__ = ["PublishedCall", "Supervisor", "tell_worker"]

_log = logging.getLogger(__name__)
_MAX_REASON: Final = 1000
_DEADLINE_REASON: Final = "its deadline passed"
_UNKNOWN_EFFECTS: Final = "check what the tool did before calling it again"


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedCall:
    """What a supervisor must know of a call.

    Attributes:
        invocation: Its id.
        pool: Its pool.
        tool: The tool's name on its workers.
        executor: Who waits for the result.
        deadline_ms: Unix time in milliseconds.
        idempotent: Whether another worker may run it again after one died.
        max_attempts: How often it may run.
    """

    invocation: str
    pool: str
    tool: str
    executor: str
    deadline_ms: int
    idempotent: bool
    max_attempts: int


class Supervisor:
    """Ends a call that does not end by itself.

    A silent call is looked up: first its stored result, then the ledger. A lease that ran out and that nobody takes
    over is a dead worker's; unless another worker may run the call again, it ends as WORKER_LOST. At the deadline the
    call is marked as cancelled, so that no late worker runs it, and ends as DEADLINE_EXCEEDED.
    """

    def __init__(self, call: PublishedCall, waiter: Waiter, broker: Broker, patience: Patience) -> None:
        self.receipt: PublishReceipt | None = None
        """Where the call is queued; None while that is not known."""
        self.unowned = asyncio.Event()
        """Set once no worker has the call and one may run it: it must be in the queue then."""
        self._call = call
        self._waiter = waiter
        self._broker = broker
        self._ledger = Ledger(broker)
        self._results = StoredResults(broker)
        self._patience = patience
        now = time.monotonic()
        self._deadline = now + call.deadline_ms / 1000 - time.time()
        self._look_delay = patience.queued_look_s
        self._look_at = now + self._look_delay
        self._heard = 0
        self._cancel_reason: str | None = None
        self._dead: tuple[int, float] | None = None
        """Revision of a lease that has run out, and since when it is known."""

    def cancel(self, reason: str) -> None:
        """Ask for the call to be withdrawn or cancelled; the first reason counts."""
        if self._cancel_reason is None:
            self._cancel_reason = reason[:_MAX_REASON]
            self._look_now()

    def heard(self) -> None:
        """Say that the call is running: from now on its silence is noticed sooner than that of a queued one."""
        soon = time.monotonic() + self._patience.running_look_s
        if self._look_at > soon:
            self._look_at = soon
            self._waiter.attention.set()

    def give_up(self, reason: str, hint: str) -> None:
        """End the call now, because nobody will ever say how it ended."""
        call = self._call
        self._end(
            ErrorCode.BROKER_UNREACHABLE,
            f"{reason}; whether {call.tool!r} ran, or still runs, is unknown (call {call.invocation})",
            hint=hint,
        )

    def reconnected(self) -> None:
        """Say that messages may have been missed: look at once, and give leases their time anew."""
        self._dead = None
        self._look_now()

    async def run(self) -> None:
        """Look after the call until its deadline, and end it then; to be cancelled once it has its result."""
        if await self._ended_by(self._deadline + self._patience.grace_s):
            return
        if self._broker.connected:
            await self._ask_how_it_ended()
        else:
            self._end_unknown("it can't be reached")

    async def _ended_by(self, when: float) -> bool:
        try:
            async with asyncio.timeout(when - time.monotonic()):
                await self._look_again_and_again()
        except TimeoutError:
            return False
        return True

    async def _look_again_and_again(self) -> None:
        while self._waiter.result is None:
            if time.monotonic() >= self._look_at:
                await self._look()
            await self._waiter.attention_within(self._look_at - time.monotonic())

    def _look_now(self) -> None:
        self._look_at = 0.0
        self._waiter.attention.set()

    def _look_in(self, seconds: float) -> None:
        self._look_at = time.monotonic() + seconds

    # -- one look

    async def _look(self) -> None:
        quiet = self._waiter.signs_of_life == self._heard
        self._heard = self._waiter.signs_of_life
        # Whatever happens now, not again at once.
        self._look_in(self._patience.running_look_s)
        try:
            if self._cancel_reason is not None:
                await self._cancel(self._cancel_reason)
            elif quiet and not await self._take_stored():
                await self._judge(await self._ledger.look(self._call.pool, self._call.invocation))
        except (BrokerError, MalformedMessageError) as error:
            _log.debug("call %s can't be looked up: %s", self._call.invocation, error)
            # Nothing can be said of a lease that can't be watched.
            self._dead = None

    async def _cancel(self, reason: str) -> None:
        if await self._take_stored():
            return
        claim = await self._mark_cancelled(reason)
        if claim.state is ClaimState.CANCELLED:
            await self._leave_queue()
            # Between the two looks it may have ended.
            if not await self._take_stored():
                self._end_cancelled(claim)
        else:
            await tell_worker(self._broker, self._call, claim, reason)
            self._look_in(self._patience.cancel_repeat_s)

    async def _judge(self, claim: Claim) -> None:
        if claim.state is ClaimState.FREE:
            self.unowned.set()
            self._look_in(self._look_delay)
            self._look_delay = min(2 * self._look_delay, self._patience.longest_look_s)
        elif claim.state is ClaimState.CANCELLED:
            self._end_cancelled(claim)
        elif claim.state is ClaimState.DEAD:
            await self._judge_dead(claim)
        elif claim.entry is not None:
            left_s = claim.entry.lease_until_ms / 1000 - time.time()
            self._look_in(min(self._patience.running_look_s, max(left_s, 0) + self._patience.dead_look_s))

    async def _judge_dead(self, claim: Claim) -> None:
        now = time.monotonic()
        if self._dead is None or self._dead[0] != claim.revision:
            self._dead = claim.revision, now
        self._look_in(self._patience.dead_look_s)
        # Another worker gets the call in these seconds, and answers for the dead one.
        if self._may_run_again(claim):
            self.unowned.set()
            return
        if now - self._dead[1] < self._patience.dead_s:
            return
        cancelled = await self._mark_cancelled("its worker was lost")
        if cancelled.state is not ClaimState.CANCELLED:
            self._dead = None
            return
        await self._leave_queue()
        if not await self._take_stored():
            self._end_lost(claim)

    def _may_run_again(self, claim: Claim) -> bool:
        attempt = claim.entry.attempt if claim.entry is not None else 0
        return self._call.idempotent and attempt < self._call.max_attempts

    # -- the deadline

    async def _ask_how_it_ended(self) -> None:
        try:
            async with asyncio.timeout(self._patience.verdict_s):
                await self._end_by_record()
        except (BrokerError, MalformedMessageError, TimeoutError) as error:
            self._end_unknown(error.message if isinstance(error, ToolmeshError) else "it does not answer")

    def _end_unknown(self, reason: str) -> None:
        self._end(
            ErrorCode.DEADLINE_EXCEEDED,
            f"the deadline passed, and the broker can't say what became of call {self._call.invocation}: {reason}",
            hint=_UNKNOWN_EFFECTS,
        )

    async def _end_by_record(self) -> None:
        if await self._take_stored():
            return
        before = await self._ledger.look(self._call.pool, self._call.invocation)
        claim = await self._mark_cancelled(_DEADLINE_REASON)
        if claim.state is ClaimState.CANCELLED:
            await self._leave_queue()
        else:
            await tell_worker(self._broker, self._call, claim, _DEADLINE_REASON)
        # It may have ended between the two looks.
        if await self._take_stored():
            return
        if claim.state is ClaimState.CANCELLED and claim.entry and claim.entry.reason != _DEADLINE_REASON:
            self._end_cancelled(claim)
        elif claim.state is ClaimState.CANCELLED and before.entry is not None and before.entry.attempt > 0:
            # Only a lease that had run out could be marked; a predecessor's mark of a call that never ran is none.
            self._end_lost(before)
        else:
            self._end_at_deadline(claim)

    # -- acts

    async def _take_stored(self) -> bool:
        stored = await self._results.read(self._call.pool, self._call.invocation)
        if stored is None or stored.invocation != self._call.invocation:
            return False
        self._waiter.settle(stored)
        return True

    async def _mark_cancelled(self, reason: str) -> Claim:
        call = self._call
        return await self._ledger.cancel(call.pool, call.invocation, deadline_ms=call.deadline_ms, reason=reason)

    async def _leave_queue(self) -> None:
        """Remove the message; the mark in the ledger already keeps every worker from running it."""
        if self.receipt is None:
            return
        try:
            await self._broker.delete_invocation(self.receipt)
        except BrokerError as error:
            _log.debug("call %s stays queued until its deadline: %s", self._call.invocation, error)

    # -- ends

    def _end_cancelled(self, claim: Claim) -> None:
        reason = claim.entry.reason if claim.entry is not None else ""
        attempt = claim.entry.attempt if claim.entry is not None else 0
        message = f"the call was cancelled: {reason}" if reason else "the call was cancelled"
        if attempt == 0:
            self._end(ErrorCode.CANCELLED, f"{message}; the tool did not run")
        else:
            # A worker had it, and was gone when the mark was made.
            self._end(
                ErrorCode.CANCELLED,
                f"{message}; its worker was lost, and whether the tool's effects happened is unknown",
                hint=_UNKNOWN_EFFECTS,
                attempt=attempt,
            )

    def _end_lost(self, claim: Claim) -> None:
        worker = claim.entry.worker if claim.entry is not None else ""
        self._end(
            ErrorCode.WORKER_LOST,
            f"worker {worker!r} was lost while it ran {self._call.tool!r}; "
            "whether the tool's effects happened is unknown",
            hint=_UNKNOWN_EFFECTS,
            attempt=claim.entry.attempt if claim.entry is not None else 0,
            worker=worker,
        )

    def _end_at_deadline(self, claim: Claim) -> None:
        entry = claim.entry
        if entry is None or entry.attempt == 0:
            self._end(
                ErrorCode.DEADLINE_EXCEEDED,
                f"no worker of pool {self._call.pool!r} took the call before its deadline; the tool did not run",
                hint="give it more time, or start more workers; `toolmesh tools list` shows which are there",
            )
        else:
            self._end(
                ErrorCode.DEADLINE_EXCEEDED,
                f"{self._call.tool!r} was still running when the call's deadline passed; it is stopped",
                hint=f"give the call more time; {_UNKNOWN_EFFECTS}",
                attempt=entry.attempt,
                worker=entry.worker,
            )

    def _end(self, code: ErrorCode, message: str, *, hint: str = "", attempt: int = 0, worker: str = "") -> None:
        call = self._call
        self._waiter.settle(
            local_result(call.invocation, call.tool, code, message, hint=hint, attempt=attempt, worker=worker)
        )


async def tell_worker(broker: Broker, call: PublishedCall, claim: Claim, reason: str) -> None:
    """Ask the worker that runs a call to stop it; a request that may be lost."""
    if claim.entry is None:
        return
    message = Cancel(invocation=call.invocation, executor=call.executor, reason=reason[:_MAX_REASON])
    try:
        subject = broker.subjects.control(call.pool, claim.entry.worker)
        await broker.publish(subject, encode(message), {SCHEMA: schema_name(Cancel)})
    except ToolmeshError as error:
        _log.debug("worker of call %s not told to stop: %s", call.invocation, error)
