"""What comes next in a task, from its records alone."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmesh_contracts.envelopes.reply import Outcome
from toolmesh_contracts.errors import ErrorCode
from toolmesh_executor.loop.conversation import OUTCOME_UNKNOWN, conversation
from toolmesh_executor.loop.decisions import AskModel, CallTools, End, LoopLimits, Wait, next_step, whole_text
from toolmesh_executor.loop.failing_tools import broken_tools
from toolmesh_executor.loop.records import (
    Finish,
    ModelAnswered,
    QuestionAnswered,
    QuestionAsked,
    QuestionKind,
    Record,
    TaskCancelled,
    TaskCompleted,
    TaskFailed,
    TaskStarted,
    TextDelta,
    ToolEnded,
    ToolRequest,
    ToolStarted,
    TurnRestarted,
    TurnStarted,
)
from toolmesh_executor.loop.task_state import TaskState, state_of
from toolmesh_executor.models.turns import ModelSaid, ToolSaid, UserSaid
from toolmesh_executor.tasks.waiting import waits

LIMITS = LoopLimits(max_turns=30, continues=True)
START = TaskStarted(agent="a", user="u", text="why?")


def answered(turn: int, text: str = "", calls: int = 0, finish: Finish = Finish.STOP) -> ModelAnswered:
    requests = tuple(
        ToolRequest(call=f"{turn}.{number}", model_id=f"id-{number}", name="echo", arguments="{}")
        for number in range(1, calls + 1)
    )
    kind = Finish.TOOLS if calls else finish
    return ModelAnswered(turn=turn, text=text, response=msgspec.Raw(b"[]"), requests=requests, finish=kind)


def asked(call: str) -> QuestionAsked:
    return QuestionAsked(call=call, tool="echo", asks_for=QuestionKind.APPROVAL, text="May I?", expires_ms=1)


def ended(call: str, outcome: Outcome = Outcome.OK, content: str = "done", tool: str = "echo") -> ToolEnded:
    code = ErrorCode.TOOL_ERROR if outcome is Outcome.ERROR else None
    return ToolEnded(call=call, tool=tool, outcome=outcome, content=content, code=code)


def test_model_is_asked_until_it_answers_without_calls() -> None:
    """Each call gets its result before the model is asked again."""
    records: list[Record] = [START]
    assert next_step(state_of(records), LIMITS) == AskModel(1)
    records += [TurnStarted(turn=1, model="m"), answered(1, "let me see", calls=2)]
    step = next_step(state_of(records), LIMITS)
    assert isinstance(step, CallTools)
    assert [request.call for request in step.calls] == ["1.1", "1.2"]
    assert step.begun == ()
    records += [ToolStarted(call="1.1", tool="echo"), ToolStarted(call="1.2", tool="echo"), ended("1.2"), ended("1.1")]
    assert next_step(state_of(records), LIMITS) == AskModel(2)
    records += [answered(2, "so it is")]
    assert next_step(state_of(records), LIMITS) == End(TaskCompleted(text="so it is"))


def test_a_begun_call_without_a_result_is_told_apart() -> None:
    """Whoever goes on with the task must not simply call it again."""
    state = state_of([START, answered(1, calls=2), ToolStarted(call="1.2", tool="echo")])
    step = next_step(state, LIMITS)
    assert isinstance(step, CallTools)
    assert [request.call for request in step.calls] == ["1.1"]
    assert [request.call for request in step.begun] == ["1.2"]


@pytest.mark.requirement("loop:turns")
def test_turns_are_bounded() -> None:
    """A model that only ever calls tools ends the task with a reason."""
    records: list[Record] = [START]
    for turn in range(1, 4):
        records += [answered(turn, calls=1), ended(f"{turn}.1")]
    step = next_step(state_of(records), LoopLimits(max_turns=3))
    assert isinstance(step, End)
    assert isinstance(step.record, TaskFailed)
    assert step.record.code is ErrorCode.RESOURCE_EXHAUSTED
    assert "3 turns" in step.record.message
    assert "max_llm_calls_per_task" in step.record.hint


def test_a_cut_answer_goes_on_and_the_texts_are_one() -> None:
    """Text before a tool call is not part of the answer."""
    records: list[Record] = [START, answered(1, "looking. ", calls=1), ended("1.1")]
    records += [answered(2, "one ", finish=Finish.LENGTH)]
    assert next_step(state_of(records), LIMITS) == AskModel(3)
    assert isinstance(conversation(state_of(records))[-1], UserSaid)
    records += [answered(3, "two")]
    assert next_step(state_of(records), LIMITS) == End(TaskCompleted(text="one two"))


def test_going_on_is_bounded_and_can_be_switched_off() -> None:
    """What there is then is the answer."""
    cut = [answered(turn, f"{turn}", finish=Finish.LENGTH) for turn in range(1, 8)]
    assert next_step(state_of([START, *cut[:5]]), LIMITS) == AskModel(6)
    assert next_step(state_of([START, *cut[:6]]), LIMITS) == End(TaskCompleted(text="123456"))
    once = LoopLimits(continues=False)
    assert next_step(state_of([START, cut[0]]), once) == End(TaskCompleted(text="1"))


def test_a_filtered_answer_fails_the_task() -> None:
    """It is no answer, whatever text there was."""
    step = next_step(state_of([START, answered(1, finish=Finish.FILTERED)]), LIMITS)
    assert isinstance(step, End)
    assert isinstance(step.record, TaskFailed)
    assert step.record.code is ErrorCode.MODEL_FAILED


@pytest.mark.parametrize(
    "last",
    [TaskCompleted(text=""), TaskFailed(code=ErrorCode.MODEL_FAILED, message="m"), TaskCancelled()],
)
def test_nothing_follows_the_end(last: Record) -> None:
    """A task ends once."""
    assert next_step(state_of([START, answered(1, calls=1), last]), LIMITS) is None


def test_an_open_turn_is_seen_until_it_is_answered_or_void() -> None:
    """A reader has to be told that text it has seen is void."""
    state = state_of([START, TurnStarted(turn=1, model="m"), TextDelta(turn=1, text="so")])
    assert state.open_turn == 1
    assert state.after(TurnRestarted(turn=1, reason="r")).open_turn is None
    assert state.after(answered(1, "so")).open_turn is None


def test_conversation_has_a_result_for_every_call() -> None:
    """Providers refuse a history in which one is missing."""
    state = state_of([START, answered(1, calls=2), ended("1.2", Outcome.ERROR, "no")])
    assert conversation(state) == (
        UserSaid("why?"),
        ModelSaid(b"[]"),
        ToolSaid("id-1", "echo", OUTCOME_UNKNOWN, failed=True),
        ToolSaid("id-2", "echo", "no", failed=True),
    )


def test_a_tool_that_fails_the_same_way_three_times_is_broken() -> None:
    """Other failures, successes and other tools in between tell that it is alive."""

    def failed(content: str, tool: str = "echo") -> ToolEnded:
        return ended("1.1", Outcome.ERROR, content, tool)

    assert broken_tools([failed("a"), failed("a"), failed("b", "other")]) == {}
    assert broken_tools([failed("a"), failed("b", "other"), failed("a"), failed("a")]) == {"echo": "a"}
    assert broken_tools([failed("a"), failed("a"), failed("b"), failed("a")]) == {}
    assert broken_tools([failed("a"), failed("a"), ended("1.1"), failed("a")]) == {}


@given(st.lists(st.integers(0, 3), max_size=8), st.data())
def test_any_history_ends_and_any_prefix_can_be_gone_on_with(calls: list[int], data: st.DataObject) -> None:
    """Whatever a model asks for, the task ends within its turns, with each call begun at most once."""
    limits = LoopLimits(max_turns=6)
    state, begun, steps = TaskState().after(START), set[str](), 0
    while (step := next_step(state, limits)) is not None:
        steps += 1
        assert steps < 80
        assert waits(state) == isinstance(step, Wait)
        match step:
            case AskModel(turn=turn):
                wanted = calls[turn - 1] if turn <= len(calls) else 0
                state = state.after(TurnStarted(turn=turn, model="m")).after(answered(turn, "t", wanted))
            case CallTools(calls=fresh, begun=left):
                for request in left:
                    state = state.after(ended(request.call, Outcome.ERROR, OUTCOME_UNKNOWN))
                for request in fresh:
                    if request.call not in state.answers and data.draw(st.booleans()):
                        state = state.after(asked(request.call))
                        continue
                    assert request.call not in begun
                    begun.add(request.call)
                    state = state.after(ToolStarted(call=request.call, tool=request.name))
                    if data.draw(st.booleans()):
                        state = state.after(ended(request.call))
            case Wait():
                assert state.questions
                assert waits(state)
                answered_call = data.draw(st.sampled_from(sorted(state.questions)))
                state = state.after(QuestionAnswered(call=answered_call, asks_for=QuestionKind.APPROVAL, by="u"))
            case End(record=record):
                state = state.after(record)
    assert state.ended is not None
    assert not state.begun
    assert not state.questions
    assert len(state.turns) <= limits.max_turns
    assert whole_text(state) == "t"
