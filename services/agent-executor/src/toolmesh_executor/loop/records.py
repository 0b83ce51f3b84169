"""What a task's history is made of. Records are only ever appended; everything else is worked out from them."""

from enum import StrEnum
from typing import Annotated, TypeAlias

import msgspec

from toolmesh_client.supervisor import PublishedCall
from toolmesh_contracts.envelopes.reply import Outcome
from toolmesh_contracts.errors import ErrorCode

__all__ = [
    "AnswerRefused",
    "ConversationCompacted",
    "Finish",
    "ModelAnswered",
    "PeerCall",
    "QuestionAnswered",
    "QuestionAsked",
    "QuestionKind",
    "Record",
    "TaskCancelled",
    "TaskCompleted",
    "TaskFailed",
    "TaskResumed",
    "TaskStarted",
    "TextDelta",
    "ToolEnded",
    "ToolRequest",
    "ToolStarted",
    "ToolStatus",
    "TurnRestarted",
    "TurnStarted",
    "TurnStatus",
]

_Count = Annotated[int, msgspec.Meta(ge=0)]


class Finish(StrEnum):
    """Why a model stopped."""

    STOP = "stop"
    TOOLS = "tools"
    LENGTH = "length"
    """Its answer was cut at its longest length."""
    FILTERED = "filtered"


class ToolRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A tool call that a model asks for."""

    call: str
    """Unique in the task, `<turn>.<position>`: ids of models are not."""
    model_id: str
    """The model's own id, which its result is sent back under."""
    name: str
    """As the model wrote it."""
    arguments: str
    """As the model wrote them; JSON if it kept to the protocol."""


class TaskStarted(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="task.started"):
    """A person or program asked an agent."""

    agent: str
    user: str
    text: str
    follows: str = ""
    """The task before it in its conversation."""
    parent: str = ""
    """The task whose agent asked."""
    parent_agent: str = ""
    depth: _Count = 0
    """How many agents asked one another before it."""
    deadline_ms: _Count = 0
    """Unix time in milliseconds; 0 for none."""
    message: _Count = 0
    """Sequence of the queue's message that its executor holds for it."""


class TaskResumed(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="task.resumed"):
    """An executor goes on with the task; whichever had it before can't write any more."""

    executor: str
    message: _Count = 0
    """Sequence of the queue's message that this executor holds for it."""


class TurnStarted(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="turn.started"):
    """The model is asked."""

    turn: _Count
    model: str


class TextDelta(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="text.delta"):
    """The next piece of the text of the turn under way."""

    turn: _Count
    text: str


class TurnStatus(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="turn.status"):
    """A line of progress that the model put into its answer."""

    turn: _Count
    text: str


class TurnRestarted(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="turn.restarted"
):
    """The turn's pieces of text so far are void: it is asked again."""

    turn: _Count
    reason: str


class ModelAnswered(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="model.answered"
):
    """A turn is complete."""

    turn: _Count
    text: str
    response: msgspec.Raw
    """The answer as the model layer writes it down, to be sent again as history without a loss."""
    requests: tuple[ToolRequest, ...] = ()
    finish: Finish = Finish.STOP
    input_tokens: _Count = 0
    output_tokens: _Count = 0
    cost_microdollars: _Count | None = None
    """In millionths of a US dollar; None where the price is not known."""


class AnswerRefused(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="answer.refused"
):
    """The model's last answer does not have the form that the agent's file asks for; it is told why."""

    turn: _Count
    problem: str


class ConversationCompacted(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="conversation.compacted"
):
    """The oldest part of a conversation that was too long for the model is a summary from now on."""

    turn: _Count
    """The turn that the model was asked for."""
    text: str
    """The summary, in which those before it are taken up."""
    earlier: _Count
    """Messages of the tasks before that it stands for, from the first one on."""
    turns: _Count
    """Turns of this task that it stands for, from the first one on."""
    input_tokens: _Count = 0
    output_tokens: _Count = 0
    cost_microdollars: _Count | None = None


class PeerCall(msgspec.Struct, frozen=True, kw_only=True):
    """What another agent was given."""

    task: str
    """Id of its task."""
    deadline_ms: _Count
    """Unix time in milliseconds until which it has to answer."""


class ToolStarted(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="tool.started"):
    """A call is about to be dispatched."""

    call: str
    tool: str
    remote: PublishedCall | None = None
    """What its worker runs, if it is one's."""
    peer: PeerCall | None = None
    """What another agent does, if it is asked."""


class ToolStatus(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="tool.status"):
    """What a running tool says."""

    call: str
    text: str


class ToolEnded(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="tool.ended"):
    """A call has its result."""

    call: str
    tool: str
    outcome: Outcome
    content: str
    """What the model reads."""
    code: ErrorCode | None = None
    invocation: str = ""


class QuestionKind(StrEnum):
    """What a person is asked for."""

    APPROVAL = "approval"
    INPUT = "input"


class QuestionAsked(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="question.asked"
):
    """A call waits for a person."""

    call: str
    tool: str
    asks_for: QuestionKind
    text: str
    arguments: str = ""
    """Of a call to be approved, if they are to be shown."""
    expires_ms: _Count = 0
    """Unix time in milliseconds after which nobody needs to answer."""


class QuestionAnswered(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="question.answered"
):
    """A person has answered, or nobody did in time."""

    call: str
    asks_for: QuestionKind
    by: str = ""
    """Who; empty when the time was over."""
    approved: bool = False
    text: str = ""


class TaskCompleted(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="task.completed"
):
    """The agent has answered."""

    text: str
    data: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    """The answer as a JSON value, of an agent with an `output_schema`."""


class TaskFailed(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="task.failed"):
    """The agent could not answer."""

    code: ErrorCode
    message: str
    hint: str = ""


class TaskCancelled(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="task.cancelled"
):
    """Who asked has taken the task back."""

    reason: str = ""


Record: TypeAlias = (
    TaskStarted
    | TaskResumed
    | TurnStarted
    | TextDelta
    | TurnStatus
    | TurnRestarted
    | ModelAnswered
    | AnswerRefused
    | ConversationCompacted
    | ToolStarted
    | ToolStatus
    | ToolEnded
    | QuestionAsked
    | QuestionAnswered
    | TaskCompleted
    | TaskFailed
    | TaskCancelled
)
"""Any step of a task."""
