"""The system prompt: what the agent's file says, and what the authors of its tools say."""

import json
from collections.abc import Sequence
from typing import Final

from toolmesh_executor.json_schema import JsonSchema
from toolmesh_executor.loop.toolbox import ToolView

__all__ = ["system_prompt"]

_OUTPUT: Final = "Your last answer has to be a JSON value alone, without any other text, that fits this JSON Schema:"


def system_prompt(instruction: str, tools: Sequence[ToolView], output: JsonSchema | None = None) -> str:
    """Return the agent's instruction, followed by those of its tools that have any, and the form of its answer."""
    told = [f"{tool.offered.name}: {tool.instructions.strip()}" for tool in tools if tool.instructions.strip()]
    parts = [instruction.strip()] if instruction.strip() else []
    if told:
        parts.append("\n\n".join(("How to use your tools:", *told)))
    if output is not None:
        parts.append(f"{_OUTPUT}\n{json.dumps(output.document, ensure_ascii=False)}")
    return "\n\n".join(parts)
