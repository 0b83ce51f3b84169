"""Drives a task from where its records leave it to its end."""

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, Protocol

import msgspec

from toolmesh_broker.task_scope import task_scope
from toolmesh_contracts.config_problems import nearest
from toolmesh_contracts.envelopes.reply import Outcome
from toolmesh_contracts.errors import ErrorCode, ToolmeshError
from toolmesh_executor.loop.conversation import OUTCOME_UNKNOWN, conversation
from toolmesh_executor.loop.decisions import AskModel, CallTools, End, LoopLimits, next_step
from toolmesh_executor.loop.failing_tools import broken_tools
from toolmesh_executor.loop.journal import Journal
from toolmesh_executor.loop.records import (
    Finish,
    ModelAnswered,
    Record,
    TaskFailed,
    TextDelta,
    ToolEnded,
    ToolRequest,
    ToolStarted,
    ToolStatus,
    TurnRestarted,
    TurnStarted,
)
from toolmesh_executor.loop.system_prompt import system_prompt
from toolmesh_executor.loop.task_state import Terminal
from toolmesh_executor.loop.text_pieces import TextPieces
from toolmesh_executor.loop.toolbox import Toolbox, ToolOutcome
from toolmesh_executor.models.turns import Message, TurnAnswer, TurnQuestion

__all__ = ["AskTurn", "LoopSettings", "TaskRun"]

_PARALLEL_CALLS: Final = 8
_WAITING_STATUSES: Final = 256
"""More are dropped: a tool must not be able to fill the memory."""


class AskTurn(Protocol):
    """Asks the agent's model for a turn."""

    async def __call__(
        self,
        question: TurnQuestion,
        on_text: Callable[[str], Awaitable[None]],
        on_again: Callable[[str], Awaitable[None]],
    ) -> TurnAnswer:
        """Return the answer; `on_again` is told why when the text so far is void.

        Raises:
            ModelError: there is none.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopSettings:
    """What an agent's file says of its loop.

    Attributes:
        model: Name of its model, for the record.
        piece_bytes: Least size of a piece of streamed text.
    """

    model: str
    instruction: str
    limits: LoopLimits
    piece_bytes: int


class TaskRun:
    """One run of a task's loop; another one, elsewhere, may have begun it.

    Args:
        journal: Its records, that of its start among them.
        toolbox: What the caller's agent can do.
        ask: Asks the model.
        settings: Those of the agent.
        earlier: What was said before, in other tasks.
    """

    def __init__(
        self,
        journal: Journal,
        toolbox: Toolbox,
        ask: AskTurn,
        settings: LoopSettings,
        earlier: tuple[Message, ...] = (),
    ) -> None:
        self._journal = journal
        self._toolbox = toolbox
        self._ask = ask
        self._settings = settings
        self._earlier = earlier

    async def run(self) -> Terminal:
        """Go on until the task has ended, and return how."""
        if (turn := self._journal.state.open_turn) is not None:
            await self._journal.append(TurnRestarted(turn=turn, reason="the agent was stopped during the turn"))
        while (step := next_step(self._journal.state, self._settings.limits)) is not None:
            match step:
                case AskModel(turn=turn):
                    await self._turn(turn)
                case CallTools(calls=calls, cut=cut):
                    await self._calls(calls, cut)
                case End(record=record):
                    await self._journal.append(record)
        ended = self._journal.state.ended
        if ended is None:
            raise AssertionError("a task without a next step has ended")
        return ended

    async def _turn(self, turn: int) -> None:
        started = TurnStarted(turn=turn, model=self._settings.model)
        pieces = TextPieces(
            self._settings.piece_bytes, lambda text: self._journal.append(TextDelta(turn=turn, text=text))
        )

        async def again(reason: str) -> None:
            pieces.forget()
            await self._journal.append(TurnRestarted(turn=turn, reason=reason))
            await self._journal.append(started)

        await self._journal.append(started)
        try:
            # Making the question can fail, too: the caller's token may have expired.
            answer = await self._ask(self._question(), pieces.add, again)
        except ToolmeshError as error:
            failed = TaskFailed(code=error.code, message=error.message, hint=error.hint)
            await self._journal.append(failed)
            return
        await pieces.flush()
        await self._journal.append(_answered(turn, answer))

    def _question(self) -> TurnQuestion:
        state = self._journal.state
        tools = self._toolbox.tools()
        broken = broken_tools(state.results())
        return TurnQuestion(
            system_prompt=system_prompt(self._settings.instruction, tools),
            messages=(*self._earlier, *conversation(state)),
            tools=tuple(tool.offered for tool in tools if tool.offered.name not in broken),
        )

    async def _calls(self, calls: tuple[ToolRequest, ...], cut: tuple[ToolRequest, ...]) -> None:
        for request in cut:
            lost = ToolOutcome(outcome=Outcome.ERROR, content=OUTCOME_UNKNOWN, code=ErrorCode.WORKER_LOST)
            await self._journal.append(_ended(request, lost))
        places = asyncio.Semaphore(_PARALLEL_CALLS)
        records: asyncio.Queue[Record] = asyncio.Queue(_WAITING_STATUSES)
        async with task_scope() as group:
            writing = group.create_task(self._write(records))
            async with task_scope() as calling:
                for request in calls:
                    calling.create_task(self._call(request, places, records))
            await records.join()
            writing.cancel()

    async def _write(self, records: asyncio.Queue[Record]) -> None:
        while True:
            await self._journal.append(await records.get())
            records.task_done()

    async def _call(self, request: ToolRequest, places: asyncio.Semaphore, records: asyncio.Queue[Record]) -> None:
        def on_status(text: str) -> None:
            with contextlib.suppress(asyncio.QueueFull):
                records.put_nowait(ToolStatus(call=request.call, text=text))

        async with places:
            outcome = self._refused(request)
            if outcome is None:
                await self._journal.append(ToolStarted(call=request.call, tool=request.name))
                outcome = await self._toolbox.call(request.name, request.arguments.encode(), on_status)
            # Behind its statuses.
            await records.put(_ended(request, outcome))

    def _refused(self, request: ToolRequest) -> ToolOutcome | None:
        """Return why a call is not even tried; None if it is."""
        if (failure := broken_tools(self._journal.state.results()).get(request.name)) is not None:
            return _refusal(
                ErrorCode.TOOL_NOT_AVAILABLE,
                f"tool {request.name!r} failed the same way three times and is not called again in this task; do "
                f"without it or tell the user. It said: {failure}",
            )
        try:
            names = [tool.offered.name for tool in self._toolbox.tools()]
        except ToolmeshError as error:
            return _refusal(error.code, error.message)
        if request.name not in names:
            near = nearest(request.name, names)
            hint = f"did you mean {near!r}?" if near else f"the tools are: {', '.join(names) or 'none'}"
            return _refusal(ErrorCode.TOOL_NOT_FOUND, f"there is no tool {request.name!r}; {hint}")
        try:
            parsed = json.loads(request.arguments or "{}")
        except (ValueError, RecursionError) as error:
            return _refusal(ErrorCode.INVALID_ARGUMENTS, f"the arguments are not valid JSON: {error}")
        if not isinstance(parsed, dict):
            return _refusal(ErrorCode.INVALID_ARGUMENTS, "the arguments must be a JSON object")
        return None


def _answered(turn: int, answer: TurnAnswer) -> ModelAnswered:
    requests = tuple(
        ToolRequest(call=f"{turn}.{position}", model_id=call.model_id, name=call.name, arguments=call.arguments)
        for position, call in enumerate(answer.calls, 1)
    )
    return ModelAnswered(
        turn=turn,
        text=answer.text,
        response=msgspec.Raw(answer.response),
        requests=requests,
        finish=Finish(answer.finish),
        input_tokens=answer.input_tokens,
        output_tokens=answer.output_tokens,
    )


def _ended(request: ToolRequest, outcome: ToolOutcome) -> ToolEnded:
    return ToolEnded(
        call=request.call,
        tool=request.name,
        outcome=outcome.outcome,
        content=outcome.content,
        code=outcome.code,
        invocation=outcome.invocation,
    )


def _refusal(code: ErrorCode, content: str) -> ToolOutcome:
    return ToolOutcome(outcome=Outcome.ERROR, content=content, code=code)
