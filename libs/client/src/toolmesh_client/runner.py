"""Carries one call from its publish to its result."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

from toolmesh_broker.errors import BrokerError, PayloadTooLargeError, QueueFullError
from toolmesh_broker.ports import Broker, OutgoingInvocation
from toolmesh_broker.reply_listener import PendingCall, ReceivedResult, ReplyListener
from toolmesh_broker.task_scope import task_scope
from toolmesh_client.call import Call
from toolmesh_client.errors import CallNotQueuedError
from toolmesh_client.payloads import OutgoingPayloads
from toolmesh_client.result import CallResult, failed_result, load_result, local_result
from toolmesh_client.settings import ClientSettings
from toolmesh_client.supervisor import PublishedCall, Supervisor
from toolmesh_client.turns import Turn
from toolmesh_client.waiter import Waiter
from toolmesh_contracts.call_steps import CallStep
from toolmesh_contracts.envelopes.catalog import CatalogEntry
from toolmesh_contracts.envelopes.invocation import DirectReply
from toolmesh_contracts.envelopes.reply import Result, Status
from toolmesh_contracts.errors import ErrorCode, ToolmeshError
from toolmesh_contracts.wire import decode

__all__ = ["Announce", "CallRunner", "Keep"]

_log = logging.getLogger(__name__)
_RETRY_AFTER_S: Final = 5.0
_DIRECT_S: Final = 1.0
"""So long the worker that has a turn's workspace may take to say that it runs the call."""


Announce: TypeAlias = Callable[[PublishedCall], Awaitable[None]]
"""Writes down a call where a successor of this process finds it, before the call can have any effect."""
Keep: TypeAlias = Callable[[CallResult], Awaitable[None]]
"""Puts a result where it outlives this process; only then its worker may forget it."""


class CallRunner:
    """Publishes a call, hears its replies, looks after it, and hands its result to the handle `call`."""

    def __init__(
        self,
        outgoing: OutgoingInvocation,
        entry: CatalogEntry,
        payloads: OutgoingPayloads,
        broker: Broker,
        replies: ReplyListener,
        settings: ClientSettings,
        turn: Turn,
        keep: Keep | None = None,
        *,
        outlives_caller: bool = False,
    ) -> None:
        self._outgoing = outgoing
        self._payloads = payloads
        self._broker = broker
        self._replies = replies
        self._settings = settings
        self._turn = turn
        self._keep = keep
        self._outlives_caller = outlives_caller
        self._left = False
        self._direct_to = turn.worker
        self._sent = False
        self._waiter = Waiter(status_capacity=settings.status_capacity)
        self.published = PublishedCall(
            invocation=outgoing.invocation,
            pool=outgoing.pool,
            tool=entry.tool,
            executor=settings.executor,
            deadline_ms=outgoing.deadline_ms,
            idempotent=entry.idempotent,
            max_attempts=entry.max_attempts,
        )
        self.supervisor = Supervisor(self.published, self._waiter, broker, settings.patience)
        self.call = Call(self.published, self._waiter, self.supervisor)
        self._received: ReceivedResult | None = None
        self._queued: asyncio.Future[ToolmeshError | None] = asyncio.get_running_loop().create_future()

    async def until_queued(self) -> None:
        """Wait until the stream holds the call.

        Raises:
            CallNotQueuedError, PayloadTooLargeError: it never will.
            BrokerError: that is unknown; the call is being withdrawn.
        """
        error = await asyncio.shield(self._queued)
        if error is not None:
            raise error

    def let_go(self, reason: str) -> None:
        """Say that nobody waits for the call any more: it is cancelled, or left to a successor if it is to outlive us.

        A call that is left keeps what it was given; its worker stores the result, which nobody confirms.
        """
        call = self.call
        if call.done:
            return
        if not self._outlives_caller:
            call.abandon(reason)
            return
        self._left, self._keep = True, None
        message = f"{reason}; the call goes on without it"
        self._waiter.settle(local_result(call.invocation, call.tool, ErrorCode.CANCELLED, message))

    async def run(self) -> None:
        """Return once `call` has its result; whatever fails is a result."""
        call = self.call
        try:
            await self._follow()
            if not self._left:
                await self._payloads.discard()
        except BrokerError as error:
            self._tell_queued(error)
            call.finish(failed_result(call.invocation, call.pool, call.tool, error.code, error.message))
        except Exception:  # noqa: BLE001 - a fault in one call must not end the others, which share the task group
            _log.exception("following a call failed", extra={"invocation": call.invocation})
            message = "the client failed while it followed the call; its log has the details"
            call.finish(failed_result(call.invocation, call.pool, call.tool, ErrorCode.INTERNAL_ERROR, message))
        finally:
            message = "the client was closed before the call ended; it may still run"
            call.finish(failed_result(call.invocation, call.pool, call.tool, ErrorCode.CANCELLED, message))
            self._tell_queued(None)

    async def _follow(self) -> None:
        # First the waiter, then the publish: a worker may answer before the publish is acknowledged.
        async with self._replies.expect(self.call.pool, self.call.invocation) as pending, task_scope() as group:
            await self._observe(CallStep.WAITER_REGISTERED)
            publishing = group.create_task(self._publish())
            others = [group.create_task(task) for task in (self._listen(pending), self.supervisor.run())]
            result = await self._waiter.wait()
            for helper in others:
                helper.cancel()
            await self._hand_over(result)
            await self._leave_queue(publishing)

    async def _hand_over(self, result: Result) -> None:
        loaded = await self._load(result)
        await self._observe(CallStep.RESULT_RECEIVED)
        self._turn.ended(loaded)
        if not await self._kept(loaded):
            return
        self.call.finish(loaded)
        await self._observe(CallStep.HANDED_OVER)
        # Only now: a confirmed result is in no other place any more.
        if self._received is not None:
            with contextlib.suppress(BrokerError):
                await self._received.confirm()
            await self._observe(CallStep.CONFIRMED)
        await self._forget_payload(result)

    async def _kept(self, result: CallResult) -> bool:
        """Have the caller keep the result; one that could not be kept stays with its worker, which stores it."""
        if self._keep is None:
            return True
        try:
            await self._keep(result)
        except Exception as error:  # noqa: BLE001 - the caller's own code: whatever fails in it, the result is not safe
            call = self.call
            _log.warning("the result of call %s was not kept: %r", call.invocation, error)
            if self._received is None:
                return True  # no worker has it, so nobody stores it: it is told, or gone
            message = f"{call.tool!r} has ended, but its result could not be kept: {error}"
            hint = f"`toolmesh result {call.invocation}` shows it, for a day after the call's deadline"
            code = ErrorCode.INTERNAL_ERROR
            call.finish(failed_result(call.invocation, call.pool, call.tool, code, message, hint=hint))
            return False
        return True

    async def _observe(self, step: CallStep) -> None:
        await self._settings.observer(step, self.call.invocation)

    async def _leave_queue(self, publishing: asyncio.Task[None]) -> None:
        """Withdraw a call that also went to the queue because the turn's worker was slow to say that it runs it."""
        if self._direct_to and self._sent:
            await asyncio.wait({publishing}, timeout=self._settings.patience.verdict_s)
        publishing.cancel()
        if self._direct_to and self.supervisor.receipt is not None:
            with contextlib.suppress(BrokerError):
                await self._broker.delete_invocation(self.supervisor.receipt)

    async def _listen(self, pending: PendingCall) -> None:
        async for news in pending:
            if isinstance(news, Status):
                self._waiter.take_status(news)
                self.supervisor.heard()
            elif self._waiter.settle(news.result):
                self._received = news

    async def _publish(self) -> None:
        if await self._taken_by_the_turns_worker():
            self._tell_queued(None)
            # No queue has it, so if that worker is lost no other one gets it.
            await self.supervisor.unowned.wait()
        self._sent = True
        try:
            self.supervisor.receipt = await self._broker.publish_invocation(self._outgoing)
        except QueueFullError as error:
            reason = f"the queue of pool {self.call.pool!r} is full: {error.message}"
            self._refused(CallNotQueuedError(reason, retry_after_s=_RETRY_AFTER_S))
        except PayloadTooLargeError as error:
            self._refused(error)
        except BrokerError as error:
            # It may be queued all the same.
            self.supervisor.cancel("it is unknown whether the call was queued")
            self._tell_queued(error)
        else:
            await self._observe(CallStep.PUBLISHED)
            self._tell_queued(None)

    async def _taken_by_the_turns_worker(self) -> bool:
        """Offer the call to the worker that has the turn's workspace; the ledger decides who runs it in any case."""
        if not self._direct_to:
            return False
        call = self._outgoing
        subject = self._broker.subjects.direct(call.pool, self._direct_to)
        try:
            answer = await self._broker.request(subject, call.body, _DIRECT_S, call.headers)
            return decode(DirectReply, answer.body).taken
        except ToolmeshError as error:
            _log.debug("call %s goes to the queue: %s", call.invocation, error)
            return False

    def _refused(self, error: ToolmeshError) -> None:
        self._tell_queued(error)
        self._waiter.settle(local_result(self.call.invocation, self.call.tool, error.code, error.message))

    def _tell_queued(self, error: ToolmeshError | None) -> None:
        if not self._queued.done():
            self._queued.set_result(error)

    async def _load(self, result: Result) -> CallResult:
        pool = self.call.pool
        store, bucket = self._broker.payloads(pool), self._broker.subjects.payload_bucket(pool)
        return await load_result(result, pool, store, bucket, self._settings.max_result_bytes)

    async def _forget_payload(self, result: Result) -> None:
        pool, ref = self.call.pool, result.payload
        if ref is None or ref.bucket != self._broker.subjects.payload_bucket(pool):
            return
        try:
            await self._broker.payloads(pool).delete(ref)
        except BrokerError as error:
            _log.debug("a fetched result stays stored until it expires: %s", error)
