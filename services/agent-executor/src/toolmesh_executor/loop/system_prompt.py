"""The system prompt: what the agent's file says, and what the authors of its tools say."""

from collections.abc import Sequence

from toolmesh_executor.loop.toolbox import ToolView

__all__ = ["system_prompt"]


def system_prompt(instruction: str, tools: Sequence[ToolView]) -> str:
    """Return the agent's instruction, followed by those of its tools that have any."""
    told = [f"{tool.offered.name}: {tool.instructions.strip()}" for tool in tools if tool.instructions.strip()]
    parts = [instruction.strip()] if instruction.strip() else []
    if told:
        parts.append("\n\n".join(("How to use your tools:", *told)))
    return "\n\n".join(parts)
