"""Which of a program's tools a manifest's entry means."""

from toolmesh_contracts.tool_description import ToolDescriptions
from toolmesh_runtime.toolsets.schema_probe import ProbeError

__all__ = ["own_name"]


def own_name(name: str, answer: ToolDescriptions) -> str:
    """Return the program's own name of a manifest's tool: the same one, or that of its only tool.

    Raises:
        ProbeError: it has several tools and none of this name, or its description of the tool can't be used.
    """
    if name in answer.problems:
        raise ProbeError(answer.problems[name])
    if name in answer.tools:
        return name
    if len(answer.tools) + len(answer.problems) == 1:
        only = next(iter(answer.tools), "")
        if only:
            return only
        raise ProbeError(next(iter(answer.problems.values())))
    raise ProbeError(f"its program has the tools {', '.join(sorted(answer.tools))}, not {name!r}")
