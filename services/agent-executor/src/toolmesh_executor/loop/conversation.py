"""What a task's records are to a model: messages in which every call has a result."""

from typing import Final

from toolmesh_contracts.envelopes.reply import Outcome
from toolmesh_executor.loop.records import Finish, ToolEnded, ToolRequest
from toolmesh_executor.loop.task_state import AnsweredTurn, TaskState
from toolmesh_executor.models.turns import Message, ModelSaid, ToolSaid, UserSaid

__all__ = ["OUTCOME_UNKNOWN", "conversation", "of_turn"]

OUTCOME_UNKNOWN: Final = (
    "outcome unknown: the agent was stopped while this call ran; it may have happened. Call again only if that is "
    "harmless, else check first or tell the user."
)
_SUMMARY: Final = "A summary of what was said and done before, which was too long to be told in full:\n\n"
_AGAIN: Final = "Your answer does not fit the JSON Schema: {}. Answer again, with the corrected JSON value alone."
_GO_ON: Final = "Your answer was cut at its longest length. Go on exactly where it ended, without repeating anything."


def conversation(state: TaskState, earlier: tuple[Message, ...] = ()) -> tuple[Message, ...]:
    """Return the messages of a task that has been started, after those of the tasks before it.

    The task's own question is always among them, whatever a summary stands for.
    """
    if state.started is None:
        raise ValueError("the task has not been started")
    messages: list[Message] = []
    replaced = 0
    if state.compactions:
        summary = state.compactions[-1]
        messages.append(UserSaid(_SUMMARY + summary.text))
        earlier, replaced = earlier[summary.earlier :], summary.turns
    messages += [*earlier, UserSaid(state.started.text)]
    for number, turn in enumerate(state.turns[replaced:], replaced + 1):
        is_last = state.ended is not None and number == len(state.turns)
        messages += of_turn(turn, goes_on=not is_last)
    return tuple(messages)


def of_turn(turn: AnsweredTurn, *, goes_on: bool) -> list[Message]:
    """Return the messages of one turn: the answer, the result of each of its calls, and that it is to go on."""
    said: list[Message] = [ModelSaid(bytes(turn.answer.response))]
    results = {result.call: result for result in turn.results}
    said += [_result(request, results.get(request.call)) for request in turn.answer.requests]
    if turn.refused:
        said.append(UserSaid(_AGAIN.format(turn.refused)))
    elif goes_on and turn.answer.finish is Finish.LENGTH and not turn.answer.requests:
        said.append(UserSaid(_GO_ON))
    return said


def _result(request: ToolRequest, ended: ToolEnded | None) -> ToolSaid:
    if ended is None:
        return ToolSaid(request.model_id, request.name, OUTCOME_UNKNOWN, failed=True)
    failed = ended.outcome is not Outcome.OK and ended.outcome is not Outcome.PARTIAL
    return ToolSaid(request.model_id, request.name, ended.content, failed)
