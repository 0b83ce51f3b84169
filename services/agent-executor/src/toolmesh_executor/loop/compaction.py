"""Shortens a conversation that is too long for its model: a summary stands for its oldest part."""

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final, Protocol

from toolmesh_executor.loop.conversation import conversation, of_turn
from toolmesh_executor.loop.records import ConversationCompacted
from toolmesh_executor.loop.task_state import TaskState
from toolmesh_executor.models.errors import ModelFailedError, QuestionTooLongError
from toolmesh_executor.models.turns import Message, ModelSaid, ToolSaid, TurnAnswer, TurnQuestion, UserSaid

__all__ = ["AskSummary", "OldestPart", "compacted", "oldest_part", "size_of"]

_MOST_OF_A_TURN: Final = 3
"""Each replaces twice as much as the one before."""
_SUMMARY_ATTEMPTS: Final = 3
"""Each is for half of the one before, which was too long itself."""
_REQUEST: Final = (
    "This conversation has become too long. Write a summary of it that you can go on with in its place: what the user "
    "wants, what was found out and done, with all names, numbers and ids that are still needed, what failed, and what "
    "is left to do. Write the summary alone, and call no tool."
)


class AskSummary(Protocol):
    """Asks the agent's model for text that nobody else reads."""

    async def __call__(self, question: TurnQuestion) -> TurnAnswer:
        """Return the answer.

        Raises:
            ModelError: there is none.
        """


@dataclass(frozen=True, slots=True)
class OldestPart:
    """What a summary is to stand for.

    Attributes:
        earlier: Messages of the tasks before, from the first one on.
        turns: Turns of the task, from the first one on.
        messages: All that the model knows of it: an earlier summary, the messages, and the question of its turns.
    """

    earlier: int
    turns: int
    messages: tuple[Message, ...]


def oldest_part(state: TaskState, earlier: tuple[Message, ...], part: float) -> OldestPart | None:
    """Return what to replace: never the task's question, its last turn, or a call without its results.

    Args:
        state: The task.
        earlier: What was said in the tasks before it.
        part: How much of what may be replaced, by its size: more than 0, at most 1.

    Returns:
        The least that is as much; None if nothing may be replaced.
    """
    done = state.compactions[-1] if state.compactions else None
    first, first_turn = (done.earlier, done.turns) if done else (0, 0)
    turns = [of_turn(turn, goes_on=True) for turn in state.turns]
    places = [(place, first_turn) for place in _places(earlier, first)]
    places += [(len(earlier), number) for number in range(first_turn + 1, len(turns))]
    parts = [(earlier[first:place], tuple(chain.from_iterable(turns[first_turn:number]))) for place, number in places]
    sizes = [size_of(chain(*both)) for both in parts]
    known = conversation(replace(state, turns=()), earlier)
    for place, (before, since), size in zip(places, parts, sizes, strict=True):
        if size >= part * sizes[-1]:
            summary = known[:1] if done else ()
            question = known[-1:] if since else ()
            return OldestPart(*place, (*summary, *before, *question, *since))
    return None


async def compacted(
    state: TaskState, earlier: tuple[Message, ...], part: float, question: TurnQuestion, ask: AskSummary
) -> ConversationCompacted:
    """Have the model summarize the oldest part of a conversation that it has refused as too long.

    Args:
        state: The task.
        earlier: What was said in the tasks before it.
        part: How much is replaced the first time, by size.
        question: What was too long.
        ask: Asks the model.

    Raises:
        ModelError: it can't be made short enough.
    """
    tries = sum(done.turn == state.next_turn for done in state.compactions)
    if tries == _MOST_OF_A_TURN:
        raise _still_too_long(f"also after {tries} summaries of its oldest part")
    oldest, answer = await _summary(state, earlier, min(1.0, part * 2**tries), question, ask)
    record = ConversationCompacted(
        turn=state.next_turn,
        text=answer.text,
        earlier=oldest.earlier,
        turns=oldest.turns,
        input_tokens=answer.input_tokens,
        output_tokens=answer.output_tokens,
        cost_microdollars=answer.cost_microdollars,
    )
    shorter = size_of(conversation(state.after(record), earlier)) < size_of(conversation(state, earlier))
    if not answer.text.strip() or answer.finish == "filtered" or not shorter:
        raise _still_too_long("and it wrote no shorter summary of its oldest part")
    return record


async def _summary(
    state: TaskState, earlier: tuple[Message, ...], part: float, question: TurnQuestion, ask: AskSummary
) -> tuple[OldestPart, TurnAnswer]:
    for attempt in range(_SUMMARY_ATTEMPTS):
        oldest = oldest_part(state, earlier, part / 2**attempt)
        if oldest is None:
            raise _still_too_long("and nothing in it can be summarized")
        # With the tools: providers refuse a history of calls without them.
        with contextlib.suppress(QuestionTooLongError):
            return oldest, await ask(replace(question, messages=(*oldest.messages, UserSaid(_REQUEST))))
    raise _still_too_long("and so is its oldest part for a summary")


def _still_too_long(why: str) -> ModelFailedError:
    return ModelFailedError(
        f"the conversation is too long for the model, {why}",
        hint="ask with less text, begin a new conversation, or choose a model that takes more",
    )


def size_of(messages: Iterable[Message]) -> int:
    """Return the size of messages in bytes: tokens are known to the provider alone."""
    return sum(_bytes(message) for message in messages)


def _bytes(message: Message) -> int:
    match message:
        case UserSaid(text=text):
            return len(text.encode())
        case ModelSaid(response=response):
            return len(response)
        case ToolSaid(content=content):
            return len(content.encode())


def _places(messages: tuple[Message, ...], first: int) -> Iterator[int]:
    """Return after how many messages they may be cut: not before a result, whose call would be lost."""
    for place in range(first + 1, len(messages) + 1):
        if place == len(messages) or not isinstance(messages[place], ToolSaid):
            yield place
