"""The system prompt: what the agent's file says, and what the authors of its tools say."""

import json
from collections.abc import Sequence
from typing import Final

from toolmesh_executor.json_schema import JsonSchema
from toolmesh_executor.loop.toolbox import ToolView

__all__ = ["system_prompt"]

_OUTPUT: Final = "Your last answer has to be a JSON value alone, without any other text, that fits this JSON Schema:"

_EMBEDS: Final = (
    "What you write between « and » is replaced by its value before a person or a tool reads it, except in blocks of "
    "code. Use it for whatever you would have to work out or guess: «math:19.5*3 | .2f», «datetime:» (now, in UTC; or "
    "with a format, «datetime:%Y-%m-%d»), «uuid:». «status_update:text» is taken out, and tells the user at once what "
    "you are doing."
)


def system_prompt(
    instruction: str, tools: Sequence[ToolView], output: JsonSchema | None = None, *, embeds: bool = False
) -> str:
    """Return the agent's instruction, followed by those of its tools that have any, and the form of its answer.

    Args:
        instruction: What the agent's file says.
        tools: What the model may call.
        output: What its last answer has to fit.
        embeds: Whether embeds in what it writes are replaced.
    """
    told = [f"{tool.offered.name}: {tool.instructions.strip()}" for tool in tools if tool.instructions.strip()]
    parts = [instruction.strip()] if instruction.strip() else []
    if told:
        parts.append("\n\n".join(("How to use your tools:", *told)))
    if embeds:
        parts.append(_EMBEDS)
    if output is not None:
        parts.append(f"{_OUTPUT}\n{json.dumps(output.document, ensure_ascii=False)}")
    return "\n\n".join(parts)
