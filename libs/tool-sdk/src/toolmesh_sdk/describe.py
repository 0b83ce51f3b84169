"""What `--schema` prints: each tool's description, parameters and declarations."""

from __future__ import annotations

import sys

from .artifacts import ArtifactTypeInfo
from .calling import Awaiting
from .config_schema import config_declarations
from .definition_places import place_of
from .errors import ToolDefinitionError
from .function_schema import unknown_annotations
from .function_tool import FunctionTool
from .options import volume_declarations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .dynamic_tool import DynamicTool
    from .tool_sets import ToolSet

_PUBLISHED = "sam_tool_sdk"
_OVERRIDABLE: dict[str, type] = {
    "name": str,
    "description": str,
    "instructions": str,
    "parameters": dict,
    "config_schema": list,
}


def describe(tools: ToolSet, tool_config: dict[str, Any] | None) -> dict[str, Any]:
    """Return the schema document of an executable.

    Args:
        tools: Its tools.
        tool_config: The configuration to describe them for; None describes them without dynamic changes.

    Raises:
        ToolDefinitionError: A tool cannot be described; the message names each such tool and what to write.
    """
    from . import __version__

    entries: dict[str, Any] = {}
    problems: list[str] = []
    place: tuple[str, int] | None = None
    for tool in tools.all_tools(tool_config or {}):
        try:
            entry = tool_entry(tool)
        except ToolDefinitionError as problem:
            problems.append(str(problem))
            place = place or problem.place
            continue
        override = schema_override(tool, tool_config) if tool_config is not None else {}
        name = override.pop("name", tool.tool_name)
        if name != tool.tool_name:
            entry["static_name"] = tool.tool_name
        if name in entries:
            problems.append(f"two tools are named {name}; rename one")
        entries[name] = {**entry, **override}
    if problems:
        raise ToolDefinitionError("; ".join(problems), place)
    return {"tools": entries, "sdk": {"name": "toolmesh_sdk", "version": __version__}}


def tool_entry(tool: DynamicTool) -> dict[str, Any]:
    """Return the entry of one tool.

    Raises:
        ToolDefinitionError: It has no description, its parameters are no JSON Schema object, or an annotation says
            nothing. Authors of the published SDK, which took that for text, are not asked for more.
    """
    function = getattr(tool, "function", None) if isinstance(tool, FunctionTool) else None
    description: object = tool.tool_description
    if not isinstance(description, str) or not description.strip():
        what = "tool_description" if function is None else "a docstring"
        raise ToolDefinitionError(
            f"{tool.tool_name} has no description: write {what}, because model providers refuse tools without one",
            place_of(function),
        )
    parameters: object = tool.parameters_schema
    if not isinstance(parameters, dict):
        raise ToolDefinitionError(
            f"{tool.tool_name}: parameters_schema must be a JSON Schema object, is {type(parameters).__name__}"
        )
    if isinstance(tool, FunctionTool) and _PUBLISHED not in sys.modules:
        _refuse_unknown_annotations(tool)
    entry: dict[str, Any] = {"description": description, "parameters": parameters}
    entry.update({key: value for key, value in _declarations(tool).items() if value})
    if tool.resolution_type != "early":
        entry["resolution_type"] = tool.resolution_type
    return entry


def _refuse_unknown_annotations(tool: FunctionTool) -> None:
    found = unknown_annotations(tool.parameters)
    if not found:
        return
    places = [place_of(tool.function, name) for name, _ in found]
    texts = [
        f"parameter {name!r} of {tool.tool_name}{'' if place is None else f' (line {place[1]})'}: {annotation.reason()}"
        for (name, annotation), place in zip(found, places, strict=True)
    ]
    raise ToolDefinitionError("; ".join(texts), places[0])


def _declarations(tool: DynamicTool) -> dict[str, Any]:
    return {
        "artifact_params": {name: _artifact_entry(info) for name, info in tool.artifact_params.items()},
        "instructions": tool.instructions,
        "auth": tool.auth_config,
        "config_schema": config_declarations(tool.config_schema or ()),
        "timeout_seconds": tool.timeout_seconds,
        "volume_params": volume_declarations(tool.volume_params or ()),
        "raw_string_args": tool.raw_string_args,
        "output_schema": tool.output_schema,
    }


def _artifact_entry(info: ArtifactTypeInfo) -> dict[str, bool]:
    return {"is_list": info.is_list, "is_optional": info.is_optional}


def schema_override(tool: DynamicTool, tool_config: dict[str, Any]) -> dict[str, Any]:
    """Return what a tool's dynamic schema changes for a tool_config.

    Raises:
        ToolDefinitionError: It returned no object, or a value of the wrong type.
    """
    awaiting = Awaiting()
    try:
        override = awaiting.settle(tool.dynamic_schema(tool_config))
    finally:
        awaiting.close()
    if override is None:
        return {}
    if not isinstance(override, dict):
        raise ToolDefinitionError(f"{tool.tool_name}: the dynamic schema must be a dict or None, is {override!r:.80}")
    taken = {key: value for key, value in override.items() if key in _OVERRIDABLE and value is not None}
    for key, value in taken.items():
        if not isinstance(value, _OVERRIDABLE[key]):
            raise ToolDefinitionError(f"{tool.tool_name}: the dynamic schema's {key} is {value!r:.80}")
    if "config_schema" in taken:
        taken["config_schema"] = config_declarations(taken["config_schema"])
    return taken
