"""The loop over a scripted model and tools of the test's own: each step is recorded before the next."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import pytest

from toolmesh_contracts.envelopes.reply import Outcome
from toolmesh_contracts.errors import ErrorCode
from toolmesh_executor.dispatch import DispatchError
from toolmesh_executor.loop.conversation import OUTCOME_UNKNOWN
from toolmesh_executor.loop.decisions import LoopLimits
from toolmesh_executor.loop.journal import MemoryJournal
from toolmesh_executor.loop.records import (
    ModelAnswered,
    Record,
    TaskCompleted,
    TaskFailed,
    TaskStarted,
    TextDelta,
    ToolEnded,
    ToolStarted,
    ToolStatus,
    TurnRestarted,
    TurnStarted,
)
from toolmesh_executor.loop.runner import LoopSettings, TaskRun
from toolmesh_executor.loop.toolbox import OnStatus, ToolOutcome, ToolView
from toolmesh_executor.models.errors import ModelFailedError
from toolmesh_executor.models.turns import AskedCall, OfferedTool, ToolSaid, TurnAnswer, TurnQuestion

START = TaskStarted(agent="a", user="u", text="why?")
OK = ToolOutcome(outcome=Outcome.OK, content="done", invocation="i")
FAILED = ToolOutcome(outcome=Outcome.ERROR, content="unexpected keyword", code=ErrorCode.EXECUTION_ERROR)

R = TypeVar("R")
Answer = Callable[[str, bytes, OnStatus], Awaitable[ToolOutcome]]


async def works(name: str, arguments: bytes, on_status: OnStatus) -> ToolOutcome:
    return OK


async def fails(name: str, arguments: bytes, on_status: OnStatus) -> ToolOutcome:
    return FAILED


@dataclass
class Tools:
    """Tools that are functions of the test."""

    by_name: Mapping[str, Answer]
    instructions: str = ""
    called: list[tuple[str, bytes]] = field(default_factory=list)

    def tools(self) -> tuple[ToolView, ...]:
        return tuple(ToolView(OfferedTool(name, name, {"type": "object"}), self.instructions) for name in self.by_name)

    async def call(self, name: str, arguments: bytes, on_status: OnStatus) -> ToolOutcome:
        self.called.append((name, arguments))
        return await self.by_name[name](name, arguments, on_status)


def says(text: str) -> TurnAnswer:
    return TurnAnswer(text=text, calls=(), finish="stop", response=b"[]", input_tokens=2, output_tokens=1)


def asks(*calls: tuple[str, str]) -> TurnAnswer:
    asked = tuple(AskedCall(f"id-{number}", *call) for number, call in enumerate(calls))
    return TurnAnswer(text="", calls=asked, finish="tools", response=b"[]", input_tokens=2, output_tokens=1)


@dataclass
class Run:
    """A task's loop, its records and what the model was asked."""

    tools: Tools
    answers: list[TurnAnswer]
    before: tuple[Record, ...] = (START,)
    max_turns: int = 30
    records: list[Record] = field(default_factory=list)
    questions: list[TurnQuestion] = field(default_factory=list)

    async def ask(
        self,
        question: TurnQuestion,
        on_text: Callable[[str], Awaitable[None]],
        on_again: Callable[[str], Awaitable[None]],
    ) -> TurnAnswer:
        self.questions.append(question)
        answer = self.answers.pop(0)
        for letter in answer.text:
            await on_text(letter)
        return answer

    async def __call__(self) -> Record:
        journal = MemoryJournal(self.records.append)
        for record in self.before:
            await journal.append(record)
        settings = LoopSettings(
            model="m", instruction="Be kind.", limits=LoopLimits(max_turns=self.max_turns), piece_bytes=4
        )
        return await TaskRun(journal, self.tools, self.ask, settings).run()

    def of(self, kind: type[R]) -> list[R]:
        return [record for record in self.records if isinstance(record, kind)]


async def test_parallel_calls_run_at_once_and_the_model_reads_both() -> None:
    """Neither waits for the other."""
    both = asyncio.Barrier(2)

    async def meets(name: str, arguments: bytes, on_status: OnStatus) -> ToolOutcome:
        on_status(f"{name} is here")
        await both.wait()
        return ToolOutcome(outcome=Outcome.OK, content=f"{name} {arguments.decode()}")

    run = Run(Tools({"a": meets, "b": meets}), [asks(("a", '{"x": 1}'), ("b", "{}")), says("both are done")])
    async with asyncio.timeout(10):
        assert await run() == TaskCompleted(text="both are done")
    read = run.questions[1].messages[-2:]
    assert [message.content for message in read if isinstance(message, ToolSaid)] == ['a {"x": 1}', "b {}"]
    for call in ("1.1", "1.2"):
        kinds = [type(record) for record in run.records if getattr(record, "call", "") == call]
        assert kinds == [ToolStarted, ToolStatus, ToolEnded]
    assert run.of(TextDelta) == [TextDelta(turn=2, text=text) for text in ("both", " are", " don", "e")]


async def test_model_is_told_the_instruction_and_the_tools_own() -> None:
    """Authors of tools know best how they are used."""
    run = Run(Tools({"a": works}, "Ask for one city at a time."), [says("yes")])
    await run()
    assert run.questions[0].system_prompt == "Be kind.\n\nHow to use your tools:\n\na: Ask for one city at a time."


@pytest.mark.requirement("loop:failures")
async def test_a_tool_that_keeps_failing_is_not_called_a_fourth_time() -> None:
    """The model is told, does not see the tool any more, and the task still ends."""
    again = [asks(("a", '{"mode": "x"}')) for _ in range(5)]
    run = Run(Tools({"a": fails, "b": works}), [*again, says("it is broken")])
    assert await run() == TaskCompleted(text="it is broken")
    assert len(run.tools.called) == 3
    contents = [record.content for record in run.of(ToolEnded)]
    assert contents[:3] == ["unexpected keyword"] * 3
    assert "failed the same way three times" in contents[3]
    assert "unexpected keyword" in contents[3]
    assert "there is no tool 'a'" not in contents[4]
    assert [tool.name for tool in run.questions[3].tools] == ["b"]


@pytest.mark.parametrize(
    ("name", "arguments", "code", "words"),
    [
        ("ech", "{}", ErrorCode.TOOL_NOT_FOUND, "did you mean 'echo'?"),
        ("_notify_artifact_save", "{}", ErrorCode.TOOL_NOT_FOUND, "the tools are: echo"),
        ("echo", '{"a": ', ErrorCode.INVALID_ARGUMENTS, "not valid JSON"),
        ("echo", "[]", ErrorCode.INVALID_ARGUMENTS, "must be a JSON object"),
        ("echo", "[" * 100_000, ErrorCode.INVALID_ARGUMENTS, "not valid JSON"),
    ],
)
async def test_what_a_model_gets_wrong_is_said_to_it(name: str, arguments: str, code: ErrorCode, words: str) -> None:
    """No tool is called, and the task goes on."""
    run = Run(Tools({"echo": works}), [asks((name, arguments)), says("sorry")])
    assert await run() == TaskCompleted(text="sorry")
    assert run.tools.called == []
    (ended,) = run.of(ToolEnded)
    assert (ended.outcome, ended.code) == (Outcome.ERROR, code)
    assert words in ended.content


async def test_a_flood_of_statuses_is_bounded_and_ends_before_its_result() -> None:
    """A tool can't fill the memory with progress."""

    async def chatters(name: str, arguments: bytes, on_status: OnStatus) -> ToolOutcome:
        for number in range(10_000):
            on_status(f"{number}")
        return OK

    run = Run(Tools({"a": chatters}), [asks(("a", "{}")), says("done")])
    await run()
    assert 1 <= len(run.of(ToolStatus)) < 1000
    kinds = [type(record) for record in run.records]
    assert kinds.index(ToolEnded) > max(place for place, kind in enumerate(kinds) if kind is ToolStatus)


async def test_a_model_that_can_not_answer_fails_the_task() -> None:
    """With its own code and what to do next."""

    async def refuses(
        question: TurnQuestion,
        on_text: Callable[[str], Awaitable[None]],
        on_again: Callable[[str], Awaitable[None]],
    ) -> TurnAnswer:
        raise ModelFailedError("too long", hint="ask with less text")

    records: list[Record] = []
    journal = MemoryJournal(records.append)
    await journal.append(START)
    settings = LoopSettings(model="m", instruction="", limits=LoopLimits(), piece_bytes=1)
    ended = await TaskRun(journal, Tools({}), refuses, settings).run()
    assert ended == TaskFailed(code=ErrorCode.MODEL_FAILED, message="too long", hint="ask with less text")
    assert records == [START, TurnStarted(turn=1, model="m"), ended]


async def test_another_run_goes_on_where_the_first_was_stopped() -> None:
    """An open turn is asked again, a begun call is not called again, and one that was not begun is."""
    first = Run(Tools({"a": works}), [asks(("a", "{}"), ("a", '{"n": 2}'))])
    with pytest.raises(IndexError):
        await first()
    (answered,) = first.of(ModelAnswered)
    before = (START, TurnStarted(turn=1, model="m"), answered, ToolStarted(call="1.1", tool="a"))
    run = Run(Tools({"a": works}), [says("done")], before)
    assert await run() == TaskCompleted(text="done")
    assert run.tools.called == [("a", b'{"n": 2}')]
    results = {record.call: record.content for record in run.of(ToolEnded)}
    assert results == {"1.1": OUTCOME_UNKNOWN, "1.2": "done"}

    open_turn = Run(Tools({}), [says("yes")], (START, TurnStarted(turn=1, model="m"), TextDelta(turn=1, text="ye")))
    assert await open_turn() == TaskCompleted(text="yes")
    assert open_turn.records[3:5] == [
        TurnRestarted(turn=1, reason="the agent was stopped during the turn"),
        TurnStarted(turn=1, model="m"),
    ]


async def test_a_token_that_expires_ends_the_task_with_the_reason() -> None:
    """A call that is under way then is refused with it, too."""

    class Expired(Tools):
        def tools(self) -> tuple[ToolView, ...]:
            raise DispatchError("the token has expired", code=ErrorCode.AUTHENTICATION_FAILED, hint="sign in again")

    first = Run(Tools({"a": works}), [asks(("a", "{}"))], max_turns=1)
    await first()
    (answered,) = first.of(ModelAnswered)
    run = Run(Expired({}), [], (START, answered))
    ended = await run()
    assert isinstance(ended, TaskFailed)
    assert (ended.code, ended.hint) == (ErrorCode.AUTHENTICATION_FAILED, "sign in again")
    (refused,) = run.of(ToolEnded)
    assert refused.content == "the token has expired"


async def test_a_cancelled_loop_cancels_its_calls() -> None:
    """And leaves none behind."""
    begun, cancelled = asyncio.Event(), asyncio.Event()

    async def hangs(name: str, arguments: bytes, on_status: OnStatus) -> ToolOutcome:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return OK

    run = asyncio.create_task(Run(Tools({"a": hangs}), [asks(("a", "{}"))])())
    async with asyncio.timeout(10):
        await begun.wait()
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
    assert cancelled.is_set()
