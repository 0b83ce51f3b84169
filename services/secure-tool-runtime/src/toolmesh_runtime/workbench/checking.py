"""Everything that is wrong with toolsets, before a worker has to find out."""

import asyncio
import re
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
from toolmesh_runtime.process.confinement import TOOLSET_INSIDE
from toolmesh_runtime.toolsets.locate import Program
from toolmesh_runtime.workbench.agent_entries import read_agent_entries
from toolmesh_runtime.workbench.bench import Bench
from toolmesh_runtime.workbench.entries import Entry, Found, find_entries
from toolmesh_runtime.workbench.schema_faults import schema_faults
from toolmesh_sandbox.errors import SandboxError

__all__ = ["Checked", "Fault", "check_places"]

_AT_ONCE: Final = 4
_POOL: Final = "default"
"""Declared tools name no pool; they are checked against the tools of this one."""
_NO_MODULE: Final = re.compile(r"No module named '([A-Za-z0-9_]+)")
_FRAME: Final = re.compile(r'File "([^"\n]+)", line (\d+)')


@dataclass(frozen=True, slots=True)
class Fault:
    """A problem and what to do about it; the cure may be empty where the problem says it."""

    problem: Problem
    cure: str = ""


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
        (*(name for one in checked for name in one.tools), *(name for name, _ in declared)),
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
        frame = _last_frame(entry.program, getattr(error, "log", ""), bench)
        fault = Fault(frame or _problem(entry, manifest, ""), _cure(entry, error))
        named = _with_message(fault, error.message, entry)
        return Checked((), (named,))
    faults = [
        Fault(_problem(entry, manifest, f"{name}: {text}" if entry.is_alone else text), cure)
        for name, tool in tools.items()
        for text, cure in schema_faults(tool.description)
    ]
    return Checked(() if faults else tuple(tools), tuple(faults))


def _cure(entry: Entry, error: ToolmeshError | SandboxError) -> str:
    missing = _NO_MODULE.search(error.message)
    if missing is None or entry.program is None:
        return error.hint
    return f"install it beside the program: pip install --target {entry.program.folder / 'python'} {missing[1]}"


def _problem(entry: Entry, manifest: Document | None, message: str) -> Problem:
    if manifest is None:
        return Problem(file=str(entry.path), message=message)
    path: ConfigPath = ("tools", entry.name)
    return manifest.problem(path, message)


def _with_message(fault: Fault, message: str, entry: Entry) -> Fault:
    problem = fault.problem
    told = Problem(
        file=problem.file, line=problem.line, path=("tools", entry.name) if entry.name else (), message=message
    )
    return Fault(told, fault.cure)


def _last_frame(program: Program | None, log: str, bench: Bench) -> Problem | None:
    """Return the place in the author's own files where a Python program failed, if its traceback names one."""
    if program is None:
        return None
    shown = [f"{TOOLSET_INSIDE}/", f"{bench.base}/published/"]
    for file, line in reversed(_FRAME.findall(log)):
        for start in shown:
            if file.startswith(start):
                relative = file.removeprefix(start)
                inside = relative if start == shown[0] else relative.split("/", 2)[-1]
                return Problem(file=str(program.folder / inside), line=int(line), message="")
    return None
