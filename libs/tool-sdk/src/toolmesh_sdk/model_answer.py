"""What a model said, and what it took."""

from __future__ import annotations


class ModelAnswer:
    """An answer of `ctx.ask_model`.

    Attributes:
        text: What the model said.
        model: Which one, such as `anthropic/claude-sonnet-4-5`; empty from a host that does not tell.
        input_tokens: Tokens of the question.
        output_tokens: Tokens of the answer.
    """

    __slots__ = ("input_tokens", "model", "output_tokens", "text")

    def __init__(self, text: str, model: str = "", input_tokens: int = 0, output_tokens: int = 0) -> None:
        self.text = text
        self.model = model
        self.input_tokens = input_tokens
        self.output_tokens = output_tokens

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        used = f"input_tokens={self.input_tokens}, output_tokens={self.output_tokens}"
        return f"{type(self).__name__}({self.text!r}, model={self.model!r}, {used})"
