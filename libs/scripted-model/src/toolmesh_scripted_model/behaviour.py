"""What a scripted model is asked, and what it can be told to do."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Question:
    """One request, apart from its dialect.

    Attributes:
        dialect: `openai` or `anthropic`.
        model: What was asked for.
        system: The system prompt.
        user: The last thing that the user said.
        key: The key that was sent.
        body: The whole request.
        headers: Those of the request, by name.
        tools: Names of the tools that were offered.
        results: What tools answered to the calls that were asked last.
    """

    dialect: str
    model: str
    system: str
    user: str
    key: str
    body: Mapping[str, Any]
    headers: Mapping[str, str]
    tools: tuple[str, ...] = ()
    results: tuple[str, ...] = ()

    @property
    def stream(self) -> bool:
        """Whether the answer is to come piece by piece."""
        return bool(self.body.get("stream"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What the model says.

    Attributes:
        text: Its words.
        tool_calls: Pairs of a tool's name and its arguments as JSON text.
        input_tokens: What the question is said to have taken.
        output_tokens: What the answer is said to have taken.
        finish: Why it ended, in the words of the OpenAI dialect.
    """

    text: str = ""
    tool_calls: Sequence[tuple[str, str]] = ()
    input_tokens: int = 11
    output_tokens: int = 7
    finish: str = "stop"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What the server does with one request.

    Attributes:
        said: The answer, if there is one.
        status: HTTP status; from 400 on the answer is an error of the dialect.
        headers: More headers, such as Retry-After.
        raw: Bytes to send in place of a body: a lie.
        cut_after: Close the connection after so many bytes of the body.
        stall: Never answer, until the client goes away.
        pieces: Into how many characters a streamed text is split.
    """

    said: Said = Said()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    cut_after: int | None = None
    stall: bool = False
    pieces: int = 3


Behaviour = Callable[[Question], Turn]
"""A rule: what to do with a question."""
