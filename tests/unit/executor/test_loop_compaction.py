"""What a summary stands for in a conversation that is too long: any history is cut where a provider takes it."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from toolmesh_contracts.envelopes.reply import Outcome
from toolmesh_executor.loop.compaction import oldest_part, size_of
from toolmesh_executor.loop.conversation import conversation
from toolmesh_executor.loop.records import (
    ConversationCompacted,
    Finish,
    ModelAnswered,
    TaskStarted,
    ToolEnded,
    ToolRequest,
    TurnStarted,
)
from toolmesh_executor.loop.task_state import TaskState, state_of
from toolmesh_executor.models.turns import Message, ModelSaid, ToolSaid, UserSaid

SUMMARY = "s"


def task(question: str, turns: list[tuple[int, int]]) -> TaskState:
    """A task whose turns have so many calls with results of so many bytes."""
    state = state_of([TaskStarted(agent="a", user="u", text=question)])
    for number, (calls, size) in enumerate(turns, 1):
        requests = tuple(
            ToolRequest(call=f"{number}.{call}", model_id=f"{question}.{number}.{call}", name="echo", arguments="{}")
            for call in range(calls)
        )
        response = msgspec.json.encode([question, number, "x" * 200])
        finish = Finish.TOOLS if calls else Finish.LENGTH
        state = state.after(
            ModelAnswered(turn=number, text="", response=msgspec.Raw(response), requests=requests, finish=finish)
        )
        for request in requests:
            ended = ToolEnded(call=request.call, tool="echo", outcome=Outcome.OK, content="y" * size)
            state = state.after(ended)
    return state


def summarized(state: TaskState, earlier: tuple[Message, ...], part: float) -> TaskState | None:
    oldest = oldest_part(state, earlier, part)
    if oldest is None:
        return None
    record = ConversationCompacted(turn=state.next_turn, text=SUMMARY, earlier=oldest.earlier, turns=oldest.turns)
    return state.after(record)


def results_have_calls(messages: tuple[Message, ...], full: tuple[Message, ...]) -> bool:
    """Whether each answer that stays is followed by exactly what followed it in full."""

    def followed(of: tuple[Message, ...]) -> dict[int, list[ToolSaid]]:
        found: dict[int, list[ToolSaid]] = {}
        answer = -1
        for message in of:
            if isinstance(message, ModelSaid):
                answer = full.index(message)
                found[answer] = []
            elif isinstance(message, ToolSaid):
                found[answer].append(message)
            else:
                answer = -1
        return found

    whole = followed(full)
    return all(whole[answer] == results for answer, results in followed(messages).items())


TURNS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 400)), max_size=6)


@given(st.lists(TURNS, max_size=3), TURNS, st.floats(0.01, 1))
def test_any_conversation_shrinks_until_the_question_and_the_last_turn_are_left(
    before: list[list[tuple[int, int]]], turns: list[tuple[int, int]], part: float
) -> None:
    """Each step takes more away, keeps order and the results of every call, and never the task's question."""
    earlier = tuple(
        message for number, one in enumerate(before) for message in conversation(task(f"before {number}", one))
    )
    state = task("why?", turns)
    full = conversation(state, earlier)
    seen = full
    while (after := summarized(state, earlier, part)) is not None:
        told = conversation(after, earlier)
        kept = told[1:]
        before_cut = full.index(UserSaid("why?"))
        since = len(kept) - 1 - kept.index(UserSaid("why?"))
        assert UserSaid("why?") in kept
        assert kept[: kept.index(UserSaid("why?"))] == full[before_cut - kept.index(UserSaid("why?")) : before_cut]
        assert kept[len(kept) - since :] == full[len(full) - since :]
        assert results_have_calls(kept, full)
        assert not isinstance(kept[0], ToolSaid)
        assert len(kept) < len(seen)
        state, seen = after, kept
    kept_turns = len(turns) - (state.compactions[-1].turns if state.compactions else 0)
    assert kept_turns == min(1, len(turns))
    assert state.compactions or not earlier


def test_the_part_is_the_least_that_is_large_enough() -> None:
    """The agent's file says how much at first."""
    state = task("why?", [(1, 1000)] * 8)
    for part, expected in ((0.01, 1), (0.25, 2), (0.5, 4), (1.0, 7)):
        oldest = oldest_part(state, (), part)
        assert oldest is not None
        assert (oldest.earlier, oldest.turns) == (0, expected)
        assert oldest.messages == conversation(state)[: 1 + 2 * expected]
    assert size_of(conversation(state)) > 8000


def test_a_second_summary_is_made_of_the_first_and_what_came_after_it() -> None:
    """What the first one stands for is not asked for again."""
    state = task("why?", [(1, 100)] * 4)
    once = summarized(state, (), 0.25)
    assert once is not None
    oldest = oldest_part(once, (), 0.25)
    assert oldest is not None
    assert isinstance(oldest.messages[0], UserSaid)
    assert oldest.messages[0].text.endswith(SUMMARY)
    assert oldest.messages[1:] == (UserSaid("why?"), *conversation(state)[3:5])
    assert oldest.turns == 2


def test_a_summary_voids_the_open_turn() -> None:
    """Whoever goes on asks for the turn anew."""
    state = task("why?", [(1, 1)] * 3).after(TurnStarted(turn=4, model="m"))
    after = summarized(state, (), 1.0)
    assert after is not None
    assert (after.open_turn, after.next_turn) == (None, 4)
