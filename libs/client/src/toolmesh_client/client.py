"""Calls remote tools over one broker connection."""

import asyncio
import dataclasses
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolmesh_broker.ports import Broker, OutgoingInvocation
from toolmesh_broker.reply_listener import ReplyListener
from toolmesh_broker.results import StoredResults
from toolmesh_client.arguments import check_required_arguments, encode_arguments
from toolmesh_client.call import Call
from toolmesh_client.connection_change import ConnectionChange
from toolmesh_client.envelope import CallParts, caller_of, write_envelope
from toolmesh_client.errors import ClientClosedError, InvalidCallError, TurnBusyError
from toolmesh_client.payloads import OutgoingPayloads
from toolmesh_client.recovery import cancel_call, recovered_result
from toolmesh_client.request import CallRequest
from toolmesh_client.request_checks import check_form, deadline_ms_of
from toolmesh_client.resolution import ToolsByPool, resolve_tool
from toolmesh_client.result import CallResult, load_result
from toolmesh_client.runner import Announce, CallRunner, Keep
from toolmesh_client.secrets_box import Secret
from toolmesh_client.settings import ClientSettings
from toolmesh_client.supervisor import PublishedCall
from toolmesh_client.token_claims import read_claims
from toolmesh_client.tokens import RefreshingTokens
from toolmesh_client.tool_catalog import ToolCatalog
from toolmesh_client.turns import Turn, Turns
from toolmesh_contracts.envelopes.catalog import DECLARED_PROFILE, CatalogEntry
from toolmesh_contracts.envelopes.reply import Status
from toolmesh_contracts.envelopes.values import ArtifactRef
from toolmesh_contracts.ids import new_invocation_id
from toolmesh_identity.claims import Claims

__all__ = ["Client"]

_STOPPED_WAITING: Final = "the caller stopped waiting"


@dataclass(frozen=True, slots=True)
class _Checked:
    """A request in which nothing is wrong, as of now."""

    request: CallRequest
    entry: CatalogEntry
    arguments: bytes
    token: str
    claims: Claims


class Client:
    """Calls tools, follows them, cancels them. Made by `connect`; safe for any number of calls at once.

    What is wrong with a call before it is queued is raised as a typed error; how a queued call ends is its result.
    """

    def __init__(
        self,
        broker: Broker,
        settings: ClientSettings,
        replies: ReplyListener,
        catalog: ToolCatalog,
        tasks: asyncio.TaskGroup,
    ) -> None:
        self._broker = broker
        self._settings = settings
        self._replies = replies
        self._catalog = catalog
        self._tasks = tasks
        self._tokens = RefreshingTokens(settings.tokens)
        self._turns = Turns()
        self._open: dict[str, CallRunner] = {}
        self._running: set[asyncio.Task[None]] = set()
        self._pools_by_bucket: dict[str, str] = {}
        self._closed = False

    @property
    def broker(self) -> Broker:
        """The connection that the calls use."""
        return self._broker

    @property
    def catalog(self) -> ToolCatalog:
        """What workers serve, with the workers of each tool, kept up to date."""
        return self._catalog

    @property
    def open_calls(self) -> int:
        """How many calls have no result yet."""
        return len(self._open)

    def tools(self) -> ToolsByPool:
        """Return what workers serve now: by pool, then by the tool's name."""
        return self._catalog.by_pool()

    # -- calls

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, object] | bytes = b"{}",
        *,
        pool: str | None = None,
        timeout_s: float | None = None,
        on_status: Callable[[Status], None] | None = None,
        artifacts: Mapping[str, ArtifactRef | Path] | None = None,
        tool_config: Mapping[str, object] | None = None,
        secrets: Sequence[Secret] = (),
        required_scopes: tuple[str, ...] = (),
        turn: str = "",
    ) -> CallResult:
        """Call a tool and return its result; `on_status` gets each status on the way.

        If the task that waits here is cancelled, the call is cancelled too.

        Raises:
            ToolmeshError: the call was not queued, or it is unknown whether it was (BrokerUnreachableError).
        """
        request = CallRequest(
            tool=tool,
            arguments=arguments,
            pool=pool,
            timeout_s=timeout_s,
            artifacts=artifacts or {},
            tool_config=tool_config or {},
            secrets=secrets,
            required_scopes=required_scopes,
            turn=turn,
        )
        return await self.run(request, on_status)

    async def run(
        self,
        request: CallRequest,
        on_status: Callable[[Status], None] | None = None,
        *,
        announce: Announce | None = None,
        keep: Keep | None = None,
    ) -> CallResult:
        """Do what `call` does, for a request; `announce` and `keep` as in `start`."""
        call = await self.start(request, announce=announce, keep=keep)
        try:
            if on_status is not None:
                async for status in call.statuses():
                    on_status(status)
            return await call.result()
        finally:
            self._let_go(call)

    async def start(self, request: CallRequest, *, announce: Announce | None = None, keep: Keep | None = None) -> Call:
        """Queue a call and return its handle; a call of a turn once the turn's earlier calls have ended.

        Cancelled while publishing, or with a broker that doesn't answer, it takes care that the call never runs unseen.

        Args:
            request: What to call.
            announce: Awaited with what `recover` needs before the call is queued. If it raises, the call is not queued,
                and the error is the caller's.
            keep: Awaited with the result before the worker hears that it is safe, and before the handle has it: puts it
                where a successor of this process finds it. If it raises, the worker stores the result, and the call
                ends as INTERNAL_ERROR; an end that no worker told, as at the deadline, stays as it is.

        Raises:
            ToolNotFoundError, AmbiguousToolError: no worker serves the tool, or several pools do.
            InvalidArgumentsError, InvalidCallError, SecretNotSealableError: the call can't be written.
            CallNotSignedInError: no valid token.
            TurnBusyError: the turn's earlier calls took all of the request's time.
            CallNotQueuedError: the queue is full.
            BrokerError: not queued, or unknown whether it is; then it is withdrawn as soon as the broker answers.
            ClientClosedError: the `connect` block has ended.
        """
        checked = await self._check(request)
        turn = self._turn_of(checked)
        checked = await self._enter(turn, checked)
        payloads = OutgoingPayloads(self._broker, checked.entry.pool, new_invocation_id())
        try:
            outgoing = await self._written(checked, payloads, turn)
            self._raise_if_closed()
            runner = CallRunner(
                outgoing,
                checked.entry,
                payloads,
                self._broker,
                self._replies,
                self._settings,
                turn,
                keep,
                outlives_caller=request.outlives_caller,
            )
            if announce is not None:
                await announce(runner.published)
                self._raise_if_closed()
            self._follow(runner, turn)
        except BaseException:
            turn.gate.release()
            await payloads.discard()
            raise
        try:
            await runner.until_queued()
        except asyncio.CancelledError:
            runner.let_go(_STOPPED_WAITING)
            raise
        return runner.call

    def _let_go(self, call: Call) -> None:
        if (runner := self._open.get(call.invocation)) is not None:
            runner.let_go(_STOPPED_WAITING)

    async def cancel(self, call: PublishedCall, reason: str) -> None:
        """Cancel a call that someone else may have made: it never runs, or its worker is told to stop it.

        Raises:
            BrokerError: the broker can't be asked.
        """
        if (runner := self._open.get(call.invocation)) is not None:
            runner.call.abandon(reason)
            return
        await cancel_call(self._broker, call, reason)

    async def recover(self, call: PublishedCall) -> CallResult | None:
        """Wait for the result of a call that a predecessor announced, and return it.

        Returns:
            None if the call was never run and never will be, so that it can be made anew.

        Raises:
            BrokerError: the broker can't be asked.
        """
        result = await recovered_result(self._broker, call, self._settings)
        if result is None:
            return None
        bucket = self._broker.subjects.payload_bucket(call.pool)
        self._pools_by_bucket[bucket] = call.pool
        store = self._broker.payloads(call.pool)
        return await load_result(result, call.pool, store, bucket, self._settings.max_result_bytes)

    async def _check(self, request: CallRequest) -> _Checked:
        self._raise_if_closed()
        check_form(request)
        entry = resolve_tool(self.tools(), request.tool, request.pool)
        arguments = encode_arguments(request.arguments)
        check_required_arguments(arguments, request.artifacts, entry)
        token = request.token if request.token is not None else await self._tokens()
        return _Checked(request, entry, arguments, token, read_claims(token))

    def _raise_if_closed(self) -> None:
        if self._closed:
            raise ClientClosedError("this client is closed", hint="call inside of the `async with connect(...)` block")

    def _turn_of(self, checked: _Checked) -> Turn:
        """Return the turn that a call belongs to; a call without one is a turn of its own."""
        request, entry = checked.request, checked.entry
        if not request.turn or entry.profile != DECLARED_PROFILE:
            return Turn()
        return self._turns.of((entry.pool, caller_of(checked.claims, request), request.turn))

    async def _enter(self, turn: Turn, checked: _Checked) -> _Checked:
        """Wait until the turn's other calls have ended; what may have changed meanwhile is checked again."""
        if not turn.gate.locked():
            await turn.gate.acquire()
            return checked
        request, began = checked.request, time.monotonic()
        try:
            async with asyncio.timeout(request.timeout_s):
                await turn.gate.acquire()
        except TimeoutError as error:
            raise TurnBusyError(
                f"the other calls of turn {request.turn!r} did not end before this call's deadline; "
                f"{request.tool!r} did not run",
                hint="give it more time: calls of one turn run one after another",
            ) from error
        left_s = None if request.timeout_s is None else request.timeout_s - (time.monotonic() - began)
        try:
            return await self._check(dataclasses.replace(request, pool=checked.entry.pool, timeout_s=left_s))
        except BaseException:
            turn.gate.release()
            raise

    async def _written(self, checked: _Checked, payloads: OutgoingPayloads, turn: Turn) -> OutgoingInvocation:
        request, entry = checked.request, checked.entry
        deadline_ms = deadline_ms_of(request, entry, checked.claims, self._settings.patience.queue_s)
        payloads.deadline_ms = deadline_ms
        self._pools_by_bucket[self._broker.subjects.payload_bucket(entry.pool)] = entry.pool
        parts = CallParts(
            invocation=payloads.invocation,
            request=request,
            entry=entry,
            token=checked.token,
            claims=checked.claims,
            deadline_ms=deadline_ms,
            arguments=checked.arguments,
            arguments_payload=await payloads.arguments(checked.arguments),
            artifacts=await payloads.artifacts(request.artifacts),
            workspace=turn.workspace,
        )
        return write_envelope(parts, self._settings)

    def _follow(self, runner: CallRunner, turn: Turn) -> None:
        invocation = runner.call.invocation
        task = self._tasks.create_task(runner.run())
        self._open[invocation] = runner
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        task.add_done_callback(lambda _: self._open.pop(invocation))
        task.add_done_callback(lambda _: turn.gate.release())

    async def find_result(self, invocation: str, pool: str) -> CallResult | None:
        """Return the stored result of a call whose caller did not take it; None if there is none, or not yet.

        It is kept for a day after the call's deadline.

        Raises:
            BrokerError: the broker can't be asked.
        """
        stored = await StoredResults(self._broker).read(pool, invocation)
        if stored is None:
            return None
        bucket = self._broker.subjects.payload_bucket(pool)
        self._pools_by_bucket[bucket] = pool
        return await load_result(stored, pool, self._broker.payloads(pool), bucket, self._settings.max_result_bytes)

    # -- artifacts

    def open_artifact(self, ref: ArtifactRef) -> AsyncIterator[bytes]:
        """Read a file that a tool made, chunk by chunk; complete and right only if the iteration ends without error.

        Raises:
            InvalidCallError: it lies in no pool that this client called.
            PayloadMissingError, PayloadCorruptError: it has expired, or is not what the reference says.
        """
        pool = self._pools_by_bucket.get(ref.payload.bucket)
        if pool is None:
            raise InvalidCallError(f"artifact {ref.filename!r} lies in no pool that this client has called")
        return self._broker.payloads(pool).open(ref.payload)

    async def save_artifact(self, ref: ArtifactRef, path: Path) -> None:
        """Write a file that a tool made to `path`, which appears only once it is complete.

        Raises:
            OSError: it can't be written.
            InvalidCallError, PayloadMissingError, PayloadCorruptError: as `open_artifact`.
        """
        partial = path.with_name(f".{path.name}.{new_invocation_id()}.partial")
        file = await asyncio.to_thread(partial.open, "xb")
        try:
            with file:
                async for chunk in self.open_artifact(ref):
                    await asyncio.to_thread(file.write, chunk)
            await asyncio.to_thread(partial.replace, path)
        finally:
            partial.unlink(missing_ok=True)

    # -- the connection

    def on_connection_change(self, callback: Callable[[ConnectionChange], None]) -> Callable[[], None]:
        """Call `callback` whenever the connection is lost or back; the returned function ends that.

        A closed connection is noticed at once, one that merely went silent after some 20 s.
        """
        forget_lost = self._broker.on_disconnect(lambda: callback(ConnectionChange.LOST))
        forget_back = self._broker.on_reconnect(lambda: callback(ConnectionChange.BACK))

        def forget() -> None:
            forget_lost()
            forget_back()

        return forget

    def give_up_calls(self, reason: str, hint: Callable[[str], str]) -> None:
        """End all open calls as BROKER_UNREACHABLE, outcome unknown: for whoever knows that the broker stays away.

        Args:
            reason: Why nobody can answer any more.
            hint: Gives what to do next, from a call's id.
        """
        for invocation, runner in self._open.items():
            runner.supervisor.give_up(reason, hint(invocation))

    # -- life; for `connect`

    def reconnected(self) -> None:
        """Look up all open calls: replies sent during the outage are lost, results are stored."""
        for runner in self._open.values():
            runner.supervisor.reconnected()

    async def close(self) -> None:
        """Let go of the calls that are still open; give them a bounded time to be withdrawn."""
        self._closed = True
        for runner in self._open.values():
            runner.let_go("the client was closed")
        if not self._running:
            return
        _, late = await asyncio.wait(self._running, timeout=self._settings.patience.close_s)
        for task in late:
            task.cancel()
