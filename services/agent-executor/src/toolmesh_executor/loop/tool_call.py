"""One call of a tool on its way: each step is written down before the next."""

import time
from typing import Final

from toolmesh_client.supervisor import PublishedCall
from toolmesh_contracts.envelopes.reply import Outcome
from toolmesh_contracts.errors import ErrorCode, MalformedMessageError, ToolmeshError
from toolmesh_contracts.wire import check_json_object
from toolmesh_executor.loop.failing_tools import broken_tools
from toolmesh_executor.loop.record_queue import RecordQueue
from toolmesh_executor.loop.records import (
    PeerCall,
    QuestionAnswered,
    QuestionAsked,
    QuestionKind,
    ToolEnded,
    ToolRequest,
    ToolStarted,
    ToolStatus,
)
from toolmesh_executor.loop.task_state import TaskState
from toolmesh_executor.loop.toolbox import ApprovalNeeded, NoResultYet, Toolbox, ToolOutcome
from toolmesh_executor.loop.unknown_tool import unknown_tool

__all__ = ["ToolCall"]

_INPUT_TIMEOUT_S: Final = 2700.0
"""A tool's own question stays open as long as one for approval does by default."""


class ToolCall:
    """A call from its dispatch, or from where another run left it, to its outcome. Is its own `CallProgress`.

    Args:
        request: What the model asked for.
        toolbox: What runs it.
        records: Where its steps go.
    """

    def __init__(self, request: ToolRequest, toolbox: Toolbox, records: RecordQueue) -> None:
        self._request = request
        self._toolbox = toolbox
        self._records = records
        self._closed = False

    async def make(self, state: TaskState) -> bool:
        """Make the call as far as it goes now; False if its result comes by itself later."""
        request, answer = self._request, state.answers.get(self._request.call)
        outcome = await self._refused(state)
        if outcome is None and answer is not None:
            outcome = _answered(answer)
        arguments = request.arguments.encode()
        if outcome is None and answer is None and (needed := self._toolbox.approval(request.name, arguments)):
            await self._records.write(_approval(request, needed))
            return True
        found = outcome or await self._toolbox.call(request.name, arguments, self, approved=answer is not None)
        return await self._finish(found)

    async def recover(self, started: ToolStarted, state: TaskState) -> bool:
        """Go on with a call that another run began; False as in `make`."""
        found = await self._toolbox.recover(started, self._request.arguments.encode())
        if found is NoResultYet.NEVER_BEGAN:
            return await self.make(state)
        return await self._finish(found)

    async def _finish(self, found: ToolOutcome | NoResultYet) -> bool:
        if isinstance(found, NoResultYet):
            return False
        if not self._closed:
            await self.end(found)
        return True

    # -- progress

    def status(self, text: str) -> None:
        """Take a line of progress."""
        self._records.offer(ToolStatus(call=self._request.call, text=text))

    async def begin(self, remote: PublishedCall | None = None, peer: PeerCall | None = None) -> None:
        """Write down that the call is about to have effects."""
        request = self._request
        await self._records.write(ToolStarted(call=request.call, tool=request.name, remote=remote, peer=peer))

    async def end(self, outcome: ToolOutcome) -> None:
        """Write down the outcome, behind the lines of progress."""
        self._closed = True
        request = self._request
        if outcome.outcome is Outcome.PENDING:
            asked = QuestionAsked(
                call=request.call,
                tool=request.name,
                asks_for=QuestionKind.INPUT,
                text=outcome.content,
                expires_ms=_in_ms(_INPUT_TIMEOUT_S),
            )
            await self._records.write(asked)
            return
        ended = ToolEnded(
            call=request.call,
            tool=request.name,
            outcome=outcome.outcome,
            content=outcome.content,
            code=outcome.code,
            invocation=outcome.invocation,
        )
        await self._records.write(ended)

    # -- refusals

    async def _refused(self, state: TaskState) -> ToolOutcome | None:
        """Return why a call is not even tried; None if it is."""
        request = self._request
        if (failure := broken_tools(state.results()).get(request.name)) is not None:
            return ToolOutcome.failed(
                ErrorCode.TOOL_NOT_AVAILABLE,
                f"tool {request.name!r} failed the same way three times and is not called again in this task; do "
                f"without it or tell the user. It said: {failure}",
            )
        try:
            names = self._names()
            if request.name not in names:
                await self._toolbox.ready(request.name)
                names = self._names()
        except ToolmeshError as error:
            return ToolOutcome.failed(error.code, error.message)
        if request.name not in names:
            return unknown_tool(request.name, names)
        try:
            check_json_object(request.arguments.encode() or b"{}", "what was sent as arguments")
        except MalformedMessageError as error:
            return ToolOutcome.failed(ErrorCode.INVALID_ARGUMENTS, str(error))
        return None

    def _names(self) -> list[str]:
        return [tool.offered.name for tool in self._toolbox.tools()]


def _answered(answer: QuestionAnswered) -> ToolOutcome | None:
    """Return what a person's answer makes of a call; None if it is to be made."""
    if not answer.by:
        return ToolOutcome.failed(ErrorCode.DEADLINE_EXCEEDED, "the person who was asked did not answer in time")
    if answer.asks_for is QuestionKind.INPUT:
        return ToolOutcome(outcome=Outcome.OK, content=answer.text)
    if answer.approved:
        return None
    reason = f": {answer.text}" if answer.text else ""
    return ToolOutcome.failed(
        ErrorCode.PERMISSION_DENIED, f"the person who was asked did not agree to this call{reason}"
    )


def _approval(request: ToolRequest, needed: ApprovalNeeded) -> QuestionAsked:
    return QuestionAsked(
        call=request.call,
        tool=request.name,
        asks_for=QuestionKind.APPROVAL,
        text=needed.text,
        arguments=request.arguments if needed.shows_arguments else "",
        expires_ms=_in_ms(needed.timeout_s),
    )


def _in_ms(seconds: float) -> int:
    return int((time.time() + seconds) * 1000)
