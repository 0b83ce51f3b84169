"""The outcome of a call of a tool that a toolbox does not have."""

from collections.abc import Sequence

from toolmesh_contracts.config_problems import nearest
from toolmesh_contracts.errors import ErrorCode
from toolmesh_executor.loop.toolbox import ToolOutcome

__all__ = ["unknown_tool"]


def unknown_tool(name: str, known: Sequence[str]) -> ToolOutcome:
    """Return what the model reads, with the nearest name that there is."""
    near = nearest(name, known)
    hint = f"did you mean {near!r}?" if near else f"the tools are: {', '.join(known) or 'none'}"
    content = f"there is no tool {name!r}; {hint}"
    return ToolOutcome.failed(ErrorCode.TOOL_NOT_FOUND, content)
