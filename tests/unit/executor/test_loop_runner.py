"""The loop over a scripted model and tools of the test's own: each step is recorded before the next."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar

import pytest
from tests.support.function_tools import FunctionTools, OnStatus

from toolmesh_contracts.envelopes.reply import Outcome
from toolmesh_contracts.errors import ErrorCode
from toolmesh_executor.dispatch import DispatchError
from toolmesh_executor.loop.conversation import OUTCOME_UNKNOWN
from toolmesh_executor.loop.decisions import LoopLimits
from toolmesh_executor.loop.journal import MemoryJournal
from toolmesh_executor.loop.records import (
    ConversationCompacted,
    ModelAnswered,
    PeerCall,
    QuestionAnswered,
    QuestionAsked,
    QuestionKind,
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
from toolmesh_executor.loop.toolbox import ApprovalNeeded, NoResultYet, ToolOutcome, ToolView
from toolmesh_executor.models.errors import ModelFailedError
from toolmesh_executor.models.turns import AskedCall, ToolSaid, TurnAnswer, TurnQuestion, UserSaid

START = TaskStarted(agent="a", user="u", text="why?")
OK = ToolOutcome(outcome=Outcome.OK, content="done", invocation="i")
FAILED = ToolOutcome(outcome=Outcome.ERROR, content="unexpected keyword", code=ErrorCode.EXECUTION_ERROR)

R = TypeVar("R")


async def works(name: str, arguments: bytes, on_status: OnStatus) -> ToolOutcome:
    return OK


async def fails(name: str, arguments: bytes, on_status: OnStatus) -> ToolOutcome:
    return FAILED


def says(text: str) -> TurnAnswer:
    return TurnAnswer(text=text, calls=(), finish="stop", response=b"[]", input_tokens=2, output_tokens=1)


def asks(*calls: tuple[str, str]) -> TurnAnswer:
    asked = tuple(AskedCall(f"id-{number}", *call) for number, call in enumerate(calls))
    return TurnAnswer(text="", calls=asked, finish="tools", response=b"[]", input_tokens=2, output_tokens=1)


@dataclass
class Run:
    """A task's loop, its records and what the model was asked."""

    tools: FunctionTools
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

    async def __call__(self) -> Record | None:
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

    run = Run(FunctionTools({"a": meets, "b": meets}), [asks(("a", '{"x": 1}'), ("b", "{}")), says("both are done")])
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
    run = Run(FunctionTools({"a": works}, "Ask for one city at a time."), [says("yes")])
    await run()
    assert run.questions[0].system_prompt == "Be kind.\n\nHow to use your tools:\n\na: Ask for one city at a time."


@pytest.mark.requirement("loop:failures")
async def test_a_tool_that_keeps_failing_is_not_called_a_fourth_time() -> None:
    """The model is told, does not see the tool any more, and the task still ends."""
    again = [asks(("a", '{"mode": "x"}')) for _ in range(5)]
    run = Run(FunctionTools({"a": fails, "b": works}), [*again, says("it is broken")])
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
        ("echo", '{"a": ', ErrorCode.INVALID_ARGUMENTS, "no valid JSON"),
        ("echo", "[]", ErrorCode.INVALID_ARGUMENTS, "no JSON object"),
        ("echo", '{"a": ' + "[" * 100_000, ErrorCode.INVALID_ARGUMENTS, "no valid JSON"),
        ("echo", '{"a": NaN}', ErrorCode.INVALID_ARGUMENTS, "no valid JSON"),
        ("echo", r'{"a": ["\ud800"]}', ErrorCode.INVALID_ARGUMENTS, "lone surrogate"),
    ],
)
async def test_what_a_model_gets_wrong_is_said_to_it(name: str, arguments: str, code: ErrorCode, words: str) -> None:
    """No tool is called, and the task goes on."""
    run = Run(FunctionTools({"echo": works}), [asks((name, arguments)), says("sorry")])
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

    run = Run(FunctionTools({"a": chatters}), [asks(("a", "{}")), says("done")])
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
    ended = await TaskRun(journal, FunctionTools({}), refuses, settings).run()
    assert ended == TaskFailed(code=ErrorCode.MODEL_FAILED, message="too long", hint="ask with less text")
    assert records == [START, TurnStarted(turn=1, model="m"), ended]


async def test_another_run_goes_on_where_the_first_was_stopped() -> None:
    """An open turn is asked again, a begun call is not called again, and one that was not begun is."""
    first = Run(FunctionTools({"a": works}), [asks(("a", "{}"), ("a", '{"n": 2}'))])
    with pytest.raises(IndexError):
        await first()
    (answered,) = first.of(ModelAnswered)
    before = (START, TurnStarted(turn=1, model="m"), answered, ToolStarted(call="1.1", tool="a"))
    run = Run(FunctionTools({"a": works}), [says("done")], before)
    assert await run() == TaskCompleted(text="done")
    assert run.tools.called == [("a", b'{"n": 2}')]
    results = {record.call: record.content for record in run.of(ToolEnded)}
    assert results == {"1.1": OUTCOME_UNKNOWN, "1.2": "done"}

    open_turn = Run(
        FunctionTools({}), [says("yes")], (START, TurnStarted(turn=1, model="m"), TextDelta(turn=1, text="ye"))
    )
    assert await open_turn() == TaskCompleted(text="yes")
    assert open_turn.records[3:5] == [
        TurnRestarted(turn=1, reason="the agent was stopped during the turn"),
        TurnStarted(turn=1, model="m"),
    ]


async def test_a_token_that_expires_ends_the_task_with_the_reason() -> None:
    """A call that is under way then is refused with it, too."""

    class Expired(FunctionTools):
        def tools(self) -> tuple[ToolView, ...]:
            raise DispatchError("the token has expired", code=ErrorCode.AUTHENTICATION_FAILED, hint="sign in again")

    first = Run(FunctionTools({"a": works}), [asks(("a", "{}"))], max_turns=1)
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

    run = asyncio.create_task(Run(FunctionTools({"a": hangs}), [asks(("a", "{}"))])())
    async with asyncio.timeout(10):
        await begun.wait()
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
    assert cancelled.is_set()


APPROVAL = ApprovalNeeded(text="May I?", timeout_s=60, shows_arguments=True)


async def waiting_for_approval() -> Run:
    """A task that waits for a person, after a call that needs nobody."""
    tools = FunctionTools({"a": works, "risky": works}, approvals={"risky": APPROVAL})
    run = Run(tools, [asks(("risky", '{"n": 1}'), ("a", "{}"))])
    assert await run() is None
    return run


@pytest.mark.requirement("loop:approval")
async def test_a_call_that_needs_approval_waits_and_the_others_do_not() -> None:
    """Nothing of it runs; the question says what is to be agreed to; the other call has its result."""
    run = await waiting_for_approval()
    assert run.tools.called == [("a", b"{}")]
    (asked,) = run.of(QuestionAsked)
    assert (asked.call, asked.tool, asked.asks_for, asked.text) == ("1.1", "risky", QuestionKind.APPROVAL, "May I?")
    assert asked.arguments == '{"n": 1}'
    assert asked.expires_ms > 0
    assert [record.call for record in run.of(ToolEnded)] == ["1.2"]


@pytest.mark.requirement("loop:approval")
@pytest.mark.parametrize(
    ("answer", "runs", "told"),
    [
        ({"by": "ann", "approved": True}, True, "done"),
        ({"by": "ann", "text": "not today"}, False, "did not agree to this call: not today"),
        ({"by": ""}, False, "did not answer in time"),
    ],
)
async def test_an_answer_decides_whether_the_call_runs(answer: dict[str, object], runs: bool, told: str) -> None:
    """Agreed: it runs once. Refused, or nobody answered: it does not, and the model is told."""
    before = tuple((await waiting_for_approval()).records)
    answered = QuestionAnswered(call="1.1", asks_for=QuestionKind.APPROVAL, **answer)  # type: ignore[arg-type]
    tools = FunctionTools({"a": works, "risky": works}, approvals={"risky": APPROVAL})
    run = Run(tools, [says("so it is")], (*before, answered))
    assert await run() == TaskCompleted(text="so it is")
    assert tools.called == ([("risky", b'{"n": 1}')] if runs else [])
    (ended,) = [record for record in run.of(ToolEnded) if record.call == "1.1"]
    assert told in ended.content


@pytest.mark.requirement("loop:questions")
async def test_a_tools_own_question_is_put_to_a_person_and_answered_to_the_model() -> None:
    """The tool ended as pending: its question waits, and the answer is its result."""

    async def asks_which(name: str, arguments: bytes, on_status: OnStatus) -> ToolOutcome:
        return ToolOutcome(outcome=Outcome.PENDING, content="Which Oslo?")

    first = Run(FunctionTools({"a": asks_which}), [asks(("a", "{}"))])
    assert await first() is None
    (asked,) = first.of(QuestionAsked)
    assert (asked.asks_for, asked.text) == (QuestionKind.INPUT, "Which Oslo?")
    answered = QuestionAnswered(call="1.1", asks_for=QuestionKind.INPUT, by="ann", text="the one in Norway")
    run = Run(FunctionTools({"a": asks_which}), [says("it rains")], (*first.records, answered))
    assert await run() == TaskCompleted(text="it rains")
    assert run.tools.called == []
    assert isinstance(run.questions[0].messages[-1], ToolSaid)
    assert run.questions[0].messages[-1].content == "the one in Norway"


async def test_a_result_that_comes_later_is_waited_for_without_an_executor() -> None:
    """The call goes on elsewhere: the task is put down, and taken up again once the result is there."""

    async def later(name: str, arguments: bytes, on_status: OnStatus) -> NoResultYet:
        return NoResultYet.COMES_LATER

    first = Run(FunctionTools({"peer": later}, found={"1.1": NoResultYet.COMES_LATER}), [asks(("peer", "{}"))])
    assert await first() is None
    assert first.tools.looked == ["1.1"], "it is looked at once more before the task is put down"
    tools = FunctionTools({"peer": later}, found={"1.1": OK})
    run = Run(tools, [says("yes")], tuple(first.records))
    assert await run() == TaskCompleted(text="yes")
    assert tools.called == []


async def test_a_result_that_came_while_the_task_was_to_be_put_down_is_not_missed() -> None:
    """The last look finds it, so nobody has to send word."""

    async def later(name: str, arguments: bytes, on_status: OnStatus) -> NoResultYet:
        return NoResultYet.COMES_LATER

    run = Run(FunctionTools({"peer": later}, found={"1.1": OK}), [asks(("peer", "{}")), says("yes")])
    assert await run() == TaskCompleted(text="yes")


async def test_a_begun_call_that_never_ran_is_made() -> None:
    """Whoever began it stopped before it had any effect."""
    first = Run(FunctionTools({"a": works}), [asks(("a", "{}"))], max_turns=1)
    await first()
    (answered,) = first.of(ModelAnswered)
    before = (START, answered, ToolStarted(call="1.1", tool="a", peer=PeerCall(task="t", deadline_ms=1)))
    run = Run(FunctionTools({"a": works}, found={"1.1": NoResultYet.NEVER_BEGAN}), [says("yes")], before)
    assert await run() == TaskCompleted(text="yes")
    assert run.tools.called == [("a", b"{}")]


async def test_another_run_goes_on_with_the_summary_of_the_first() -> None:
    """It is in the records, so nobody has to write it again."""
    first = Run(FunctionTools({"a": works}), [asks(("a", "{}")), asks(("a", "{}")), says("done")])
    await first()
    compacted = ConversationCompacted(turn=3, text="a was called", earlier=0, turns=1)
    before = (*first.records[: first.records.index(first.of(ToolEnded)[1]) + 1], compacted)
    run = Run(FunctionTools({"a": works}), [says("done")], before)
    assert await run() == TaskCompleted(text="done")
    (question,) = run.questions
    summary, own, *kept = question.messages
    assert isinstance(summary, UserSaid)
    assert summary.text.endswith("a was called")
    assert own == UserSaid("why?")
    assert len(kept) == 2
