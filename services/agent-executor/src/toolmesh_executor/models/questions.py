"""One question to a model and its answer, apart from any provider."""

from dataclasses import dataclass

__all__ = ["ModelAnswer", "ModelQuestion"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelQuestion:
    """A system prompt and what a user says.

    Attributes:
        max_tokens: Longest answer; None leaves it to the provider.
    """

    system_prompt: str
    user_prompt: str
    temperature: float | None = None
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAnswer:
    """The text, and what it cost.

    Attributes:
        model: As people write it, `provider/model`.
        cut: The answer ended at its longest length.
    """

    text: str
    model: str
    input_tokens: int
    output_tokens: int
    cut: bool = False
