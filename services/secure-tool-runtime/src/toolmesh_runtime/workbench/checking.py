"""Everything that is wrong with toolsets, before a worker has to find out."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolmesh_contracts.config_problems import ConfigError, ConfigPath, Problem
from toolmesh_contracts.document import Document
from toolmesh_contracts.duplicate_tools import check_duplicate_tools
from toolmesh_contracts.errors import ToolmeshError
from toolmesh_contracts.manifest import Manifest
from toolmesh_contracts.tool_places import sort_places
from toolmesh_contracts.yaml_document import read_yaml
from toolmesh_runtime.toolsets.python_traceback import missing_module
from toolmesh_runtime.toolsets.schema_probe import ProbeError
from toolmesh_runtime.workbench.agent_entries import read_agent_entries
from toolmesh_runtime.workbench.bench import Bench
from toolmesh_runtime.workbench.command_faults import command_faults
from toolmesh_runtime.workbench.entries import Entry, Found, find_entries
from toolmesh_runtime.workbench.schema_faults import schema_faults
from toolmesh_sandbox.errors import SandboxError

__all__ = ["Checked", "Fault", "check_places"]

_AT_ONCE: Final = 4
_POOL: Final = "default"
"""Declared tools name no pool; they are checked against the tools of this one."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A problem and what to do about it; the cure may be empty where the problem says it.

    Attributes:
        log: What the program itself wrote about it.
    """

    problem: Problem
    cure: str = ""
    log: str = ""


@dataclass(frozen=True, slots=True)
class Checked:
    """What a check gave.

    Attributes:
        tools: Names of the tools that can be served.
        faults: What is wrong with others.
    """

    tools: tuple[str, ...]
    faults: tuple[Fault, ...]


async def check_places(places: Sequence[Path], bench: Bench) -> Checked:
    """Check manifests, programs and schemas of toolset folders, manifests and programs, and agent folders."""
    faults: list[Fault] = []
    entries: list[Entry] = []
    manifests: list[Manifest] = []
    sorted_places = sort_places(places)
    agents = [await asyncio.to_thread(read_agent_entries, folder, bench) for folder in sorted_places.agents]
    faults += [Fault(problem) for agent in agents for problem in agent.problems]
    for place in sorted_places.toolsets:
        found = _find(place, faults)
        entries += found.entries
        manifests += found.manifests
        faults += [Fault(problem) for problem in found.problems]
    declared = [
        (name, folder / tool.file)
        for folder, agent in zip(sorted_places.agents, agents, strict=True)
        for name, tool in agent.tools.items()
    ]
    broken: set[str] = set()
    for folder, agent in zip(sorted_places.agents, agents, strict=True):
        for name, tool in agent.tools.items():
            for text, cure in command_faults(tool):
                problem = Problem(file=str(folder / tool.file), path=("command",), message=f"{name}: {text}")
                faults.append(Fault(problem, cure))
                broken.add(name)
    faults += _duplicates(manifests, declared)
    documents = {path: read_yaml(path) for path in {entry.path for entry in entries if not entry.is_alone}}
    gate = asyncio.Semaphore(_AT_ONCE)

    async def check(entry: Entry) -> Checked:
        async with gate:
            return await _check(entry, documents.get(entry.path), bench)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(check(entry)) for entry in entries]
    checked = [task.result() for task in tasks]
    return Checked(
        (*(name for one in checked for name in one.tools), *(name for name, _ in declared if name not in broken)),
        (*faults, *(fault for one in checked for fault in one.faults)),
    )


def _find(place: Path, faults: list[Fault]) -> Found:
    try:
        return find_entries(place)
    except ConfigError as error:
        faults += [Fault(problem, error.hint) for problem in error.problems]
    except ToolmeshError as error:
        faults.append(Fault(Problem(file=str(place), message=error.message), error.hint))
    return Found(())


def _duplicates(manifests: Iterable[Manifest], declared: Iterable[tuple[str, Path]]) -> list[Fault]:
    try:
        check_duplicate_tools(manifests, declared, _POOL)
    except ConfigError as error:
        return [Fault(problem, error.hint) for problem in error.problems]
    return []


async def _check(entry: Entry, manifest: Document | None, bench: Bench) -> Checked:
    try:
        tools = await bench.describe(entry)
    except (ToolmeshError, SandboxError) as error:
        return Checked((), (_fault(entry, manifest, error),))
    faults = [
        Fault(_problem(entry, manifest, f"{name}: {text}" if entry.is_alone else text), cure)
        for name, tool in tools.items()
        for text, cure in schema_faults(tool.description)
    ]
    return Checked(() if faults else tuple(tools), tuple(faults))


def _fault(entry: Entry, manifest: Document | None, error: ToolmeshError | SandboxError) -> Fault:
    if not isinstance(error, ProbeError) or entry.program is None:
        return Fault(_problem(entry, manifest, error.message), error.hint)
    cure = error.cure
    if module := missing_module(error.log):
        cure = f"install it beside the program: pip install --target {entry.program.folder / 'python'} {module}"
    if error.place is None:
        return Fault(_problem(entry, manifest, error.message), cure, error.log)
    file, line = error.place
    place: ConfigPath = ("tools", entry.name) if entry.name else ()
    problem = Problem(file=str(entry.program.folder / file), line=line, path=place, message=error.reason)
    return Fault(problem, cure, error.log)


def _problem(entry: Entry, manifest: Document | None, message: str) -> Problem:
    if manifest is None:
        return Problem(file=str(entry.path), message=message)
    path: ConfigPath = ("tools", entry.name)
    return manifest.problem(path, message)
