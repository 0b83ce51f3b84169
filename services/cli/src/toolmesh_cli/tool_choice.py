"""Finds the one tool that a command means."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from toolmesh_cli.terminal import Terminal
from toolmesh_contracts.config_problems import nearest
from toolmesh_contracts.errors import ErrorCode, ToolmeshError
from toolmesh_runtime.declared.declared_tool import DeclaredTool
from toolmesh_runtime.toolsets.loaded_tool import LoadedTool
from toolmesh_runtime.workbench.agent_entries import read_agent_entries
from toolmesh_runtime.workbench.bench import Bench
from toolmesh_runtime.workbench.entries import Entry, find_entries

__all__ = ["choose_declared", "choose_entries", "describe_chosen"]


def choose_entries(place: Path, tool: str | None, terminal: Terminal) -> tuple[Entry, ...]:
    """Return what `place` holds, or only `tool` of it; tell of what is wrong with the others.

    A lone program's tools are known only after it was asked, so it is returned whatever `tool` is.

    Raises:
        ToolmeshError: nothing is there, or not this tool.
    """
    found = find_entries(place)
    for problem in found.problems:
        terminal.warning(str(problem))
    entries = found.entries
    if tool is not None and not any(entry.is_alone for entry in entries):
        entries = tuple(entry for entry in entries if entry.name == tool)
    if not entries:
        names = [entry.name for entry in found.entries]
        raise _no_tool(str(place), tool, names, warned=bool(found.problems))
    return entries


def choose_declared(folder: Path, tool: str | None, bench: Bench, terminal: Terminal) -> DeclaredTool:
    """Return the one declared tool of an agent folder that is meant; tell of what is wrong with the others.

    Raises:
        ToolmeshError: there are several and none was named, or not this one.
    """
    found = read_agent_entries(folder, bench)
    for problem in found.problems:
        terminal.warning(str(problem))
    if tool is None and len(found.tools) > 1:
        raise _several(list(found.tools))
    name = tool or next(iter(found.tools), "")
    if name not in found.tools:
        raise _no_tool(str(folder), tool, list(found.tools), warned=bool(found.problems))
    return found.tools[name]


async def describe_chosen(
    entries: tuple[Entry, ...], tool: str | None, bench: Bench, config: Mapping[str, Any] | None
) -> LoadedTool:
    """Return the one tool that is meant.

    Raises:
        ToolmeshError: there are several and none was named, or its program can't be used.
    """
    if len(entries) > 1:
        raise _several([entry.name for entry in entries])
    tools = await bench.describe(entries[0], config)
    if tool is None and len(tools) > 1:
        raise _several(list(tools))
    name = tool or next(iter(tools))
    if name not in tools:
        raise _no_tool(str(entries[0].path), tool, list(tools))
    return tools[name]


def _several(names: list[str]) -> ToolmeshError:
    return ToolmeshError(
        f"there are several tools: {', '.join(names)}",
        code=ErrorCode.INVALID_REQUEST,
        hint=f"name one: --tool {names[0]}",
    )


def _no_tool(place: str, tool: str | None, names: list[str], *, warned: bool = False) -> ToolmeshError:
    near = nearest(tool or "", names)
    known = f"it has: {', '.join(names)}" if names else "write one: `toolmesh tool init NAME`"
    if warned:
        known = "correct what the warning above says" + (f"; or use {', '.join(names)}" if names else "")
    return ToolmeshError(
        f"{place} has no tool {tool!r}" if tool else f"{place} has no tool that can be used",
        code=ErrorCode.TOOL_NOT_FOUND,
        hint=f"did you mean {near!r}?" if near else known,
    )
