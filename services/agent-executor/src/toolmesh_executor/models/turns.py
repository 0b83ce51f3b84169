"""One turn of a conversation with tools, apart from any provider."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

__all__ = [
    "AskedCall",
    "Message",
    "ModelSaid",
    "OfferedTool",
    "ToolSaid",
    "TurnAnswer",
    "TurnFinish",
    "TurnQuestion",
    "UserSaid",
]

TurnFinish: TypeAlias = Literal["stop", "tools", "length", "filtered"]


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool that the model may call.

    Attributes:
        name: As the agent calls it; a provider may want another spelling.
        parameters: JSON Schema of its arguments.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class UserSaid:
    """Text of the person, or of the loop in their place."""

    text: str


@dataclass(frozen=True, slots=True)
class ModelSaid:
    """An earlier answer, as `TurnAnswer.response` has it."""

    response: bytes


@dataclass(frozen=True, slots=True)
class ToolSaid:
    """The result of one call of the answer before.

    Attributes:
        model_id: The id that the model gave the call.
        name: As the model wrote it.
        content: What the model is to read.
        failed: The tool could not do it.
    """

    model_id: str
    name: str
    content: str
    failed: bool


Message: TypeAlias = UserSaid | ModelSaid | ToolSaid


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnQuestion:
    """All that a model is to know.

    Attributes:
        messages: The conversation, the oldest first.
        tools: What it may call; names are unique.
    """

    system_prompt: str
    messages: tuple[Message, ...]
    tools: tuple[OfferedTool, ...]


@dataclass(frozen=True, slots=True)
class AskedCall:
    """A call that the model wants.

    Attributes:
        model_id: The model's own id of it.
        name: The tool's name as it was offered; else as the model wrote it.
        arguments: JSON text, if the model kept to the protocol.
    """

    model_id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnAnswer:
    """What the model said, and what it cost.

    Attributes:
        response: The whole answer as JSON of the model layer, with what a provider wants to see again.
        cost_microdollars: In millionths of a US dollar; None where the price is not known.
    """

    text: str
    calls: tuple[AskedCall, ...]
    finish: TurnFinish
    response: bytes
    input_tokens: int
    output_tokens: int
    cost_microdollars: int | None = None
