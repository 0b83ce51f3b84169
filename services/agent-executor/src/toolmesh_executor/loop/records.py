"""What a task's history is made of. Records are only ever appended; everything else is worked out from them."""

from enum import StrEnum
from typing import Annotated, TypeAlias

import msgspec

from toolmesh_contracts.envelopes.reply import Outcome
from toolmesh_contracts.errors import ErrorCode

__all__ = [
    "Finish",
    "ModelAnswered",
    "Record",
    "TaskCancelled",
    "TaskCompleted",
    "TaskFailed",
    "TaskStarted",
    "TextDelta",
    "ToolEnded",
    "ToolRequest",
    "ToolStarted",
    "ToolStatus",
    "TurnRestarted",
    "TurnStarted",
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


class TurnStarted(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="turn.started"):
    """The model is asked."""

    turn: _Count
    model: str


class TextDelta(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="text.delta"):
    """The next piece of the text of the turn under way."""

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


class ToolStarted(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="tool.started"):
    """A call is about to be dispatched."""

    call: str
    tool: str


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


class TaskCompleted(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="task.completed"
):
    """The agent has answered."""

    text: str


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
    | TurnStarted
    | TextDelta
    | TurnRestarted
    | ModelAnswered
    | ToolStarted
    | ToolStatus
    | ToolEnded
    | TaskCompleted
    | TaskFailed
    | TaskCancelled
)
"""Any step of a task."""
