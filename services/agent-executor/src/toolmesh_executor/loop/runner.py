"""Drives a task from where its records leave it to its end."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, Protocol

import msgspec

from toolmesh_broker.errors import BrokerError
from toolmesh_broker.task_scope import task_scope
from toolmesh_contracts.errors import ErrorCode, ToolmeshError
from toolmesh_executor.embeds.early import EarlyEmbeds
from toolmesh_executor.json_schema import JsonSchema, without_fence
from toolmesh_executor.loop.answer_stream import AnswerStream
from toolmesh_executor.loop.compaction import compacted
from toolmesh_executor.loop.conversation import conversation
from toolmesh_executor.loop.decisions import AskModel, CallTools, End, LoopLimits, Wait, next_step
from toolmesh_executor.loop.failing_tools import broken_tools
from toolmesh_executor.loop.journal import Journal
from toolmesh_executor.loop.record_queue import RecordQueue
from toolmesh_executor.loop.records import (
    AnswerRefused,
    ConversationCompacted,
    Finish,
    ModelAnswered,
    TaskCompleted,
    TaskFailed,
    ToolRequest,
    TurnRestarted,
    TurnStarted,
)
from toolmesh_executor.loop.system_prompt import system_prompt
from toolmesh_executor.loop.task_state import Terminal
from toolmesh_executor.loop.tool_call import ToolCall
from toolmesh_executor.loop.toolbox import Toolbox
from toolmesh_executor.models.errors import QuestionTooLongError
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
        compaction: How much of a conversation that is too long is summarized at first: more than 0, at most 1; None
            ends the task instead.
        embeds: Replace those in answers; None leaves them.
        input_schema: What a request has to fit.
        output_schema: What an answer has to fit.
    """

    model: str
    instruction: str
    limits: LoopLimits
    piece_bytes: int
    compaction: float | None = 0.25
    embeds: EarlyEmbeds | None = None
    input_schema: JsonSchema | None = None
    output_schema: JsonSchema | None = None


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
        self._later: set[str] = set()
        self._looked = False

    async def run(self) -> Terminal | None:
        """Go on until the task has ended, and return how; None if it waits for a person or another agent."""
        if (refusal := self._refused_request()) is not None:
            await self._journal.append(refusal)
        if (turn := self._journal.state.open_turn) is not None:
            await self._journal.append(TurnRestarted(turn=turn, reason="the agent was stopped during the turn"))
        while (step := next_step(self._journal.state, self._settings.limits, self._later)) is not None:
            match step:
                case AskModel(turn=turn):
                    self._looked = False
                    await self._turn(turn)
                case CallTools(calls=calls, begun=begun):
                    self._looked = self._looked and not calls
                    await self._calls(calls, begun)
                case Wait() if await self._still_waits():
                    return None
                case End(record=record):
                    await self._journal.append(self._judged(record))
        ended = self._journal.state.ended
        if ended is None:
            raise AssertionError("a task without a next step has ended")
        return ended

    def _refused_request(self) -> TaskFailed | None:
        state, schema = self._journal.state, self._settings.input_schema
        if schema is None or state.started is None or state.turns or state.ended is not None:
            return None
        if not (problem := schema.problem(state.started.text)):
            return None
        return TaskFailed(
            code=ErrorCode.INVALID_ARGUMENTS,
            message=f"the request does not fit `input_schema` of the agent: {problem}",
            hint="ask with a JSON value that fits",
        )

    def _judged(self, record: TaskCompleted | TaskFailed) -> TaskCompleted | TaskFailed | AnswerRefused:
        """Return an end as it is to be written: an answer that does not fit is none."""
        schema = self._settings.output_schema
        if schema is None or not isinstance(record, TaskCompleted):
            return record
        if problem := schema.problem(record.text):
            return AnswerRefused(turn=len(self._journal.state.turns), problem=problem)
        value = json.loads(without_fence(record.text))
        return TaskCompleted(text=record.text, data=msgspec.Raw(json.dumps(value).encode()))

    async def _still_waits(self) -> bool:
        """Look once more before the task is put down: what ends after that sends word to who takes it up again."""
        await self._journal.refresh()
        looked_before, self._looked = self._looked, True
        self._later.clear()
        return looked_before

    async def _turn(self, turn: int) -> None:
        started = TurnStarted(turn=turn, model=self._settings.model)
        text = AnswerStream(self._journal, turn, self._settings.piece_bytes, self._settings.embeds)

        async def again(reason: str) -> None:
            text.forget()
            await self._journal.append(TurnRestarted(turn=turn, reason=reason))
            await self._journal.append(started)

        await self._journal.append(started)
        record: ModelAnswered | ConversationCompacted | TaskFailed
        try:
            record = await self._answer(turn, text, again)
        except BrokerError:
            raise  # what was said could not be written down: the turn is asked again
        except ToolmeshError as error:
            record = TaskFailed(code=error.code, message=error.message, hint=error.hint)
        await self._journal.append(record)

    async def _answer(
        self, turn: int, text: AnswerStream, on_again: Callable[[str], Awaitable[None]]
    ) -> ModelAnswered | ConversationCompacted:
        # Making the question can fail, too: the caller's token may have expired.
        question = self._question()
        try:
            answer = await self._ask(question, text.add, on_again)
        except QuestionTooLongError as error:
            part = self._settings.compaction
            if part is None:
                raise
            await on_again(f"{error.message}; the oldest part of the conversation is summarized")
        else:
            return _answered(turn, answer, await text.finish(answer.text))
        return await compacted(self._journal.state, self._earlier, part, question, self._ask_unheard)

    async def _ask_unheard(self, question: TurnQuestion) -> TurnAnswer:
        async def unheard(text: str) -> None:
            """Nobody waits for it."""

        return await self._ask(question, unheard, unheard)

    def _question(self) -> TurnQuestion:
        state = self._journal.state
        tools = self._toolbox.tools()
        broken = broken_tools(state.results())
        settings = self._settings
        prompt = system_prompt(settings.instruction, tools, settings.output_schema, embeds=settings.embeds is not None)
        return TurnQuestion(
            system_prompt=prompt,
            messages=conversation(state, self._earlier),
            tools=tuple(tool.offered for tool in tools if tool.offered.name not in broken),
        )

    async def _calls(self, calls: tuple[ToolRequest, ...], begun: tuple[ToolRequest, ...]) -> None:
        places = asyncio.Semaphore(_PARALLEL_CALLS)
        records = RecordQueue(self._journal, _WAITING_STATUSES)
        async with task_scope() as group:
            writing = group.create_task(records.run())
            async with task_scope() as calling:
                for request in (*begun, *calls):
                    calling.create_task(self._call(request, places, records))
            await records.drained()
            writing.cancel()

    async def _call(self, request: ToolRequest, places: asyncio.Semaphore, records: RecordQueue) -> None:
        call = ToolCall(request, self._toolbox, records)
        async with places:
            state = self._journal.state
            started = state.begun.get(request.call)
            ended = await (call.make(state) if started is None else call.recover(started, state))
        if not ended:
            self._later.add(request.call)


def _answered(turn: int, answer: TurnAnswer, text: str) -> ModelAnswered:
    requests = tuple(
        ToolRequest(call=f"{turn}.{position}", model_id=call.model_id, name=call.name, arguments=call.arguments)
        for position, call in enumerate(answer.calls, 1)
    )
    return ModelAnswered(
        turn=turn,
        text=text,
        response=msgspec.Raw(answer.response),
        requests=requests,
        finish=Finish(answer.finish),
        input_tokens=answer.input_tokens,
        output_tokens=answer.output_tokens,
        cost_microdollars=answer.cost_microdollars,
    )
