"""Reads the toolset folders: manifests, programs, snapshots, schemas. A broken tool never costs its neighbours."""

import asyncio
import logging
import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from toolmesh_contracts.duplicate_tools import check_duplicate_tools
from toolmesh_contracts.envelopes.catalog import ToolProblem
from toolmesh_contracts.errors import ErrorCode, ToolmeshError
from toolmesh_contracts.manifest import Manifest, ToolManifest, load_manifest
from toolmesh_contracts.tool_description import ToolDescriptions
from toolmesh_runtime.process.confinement import Confinement, ToolProgram
from toolmesh_runtime.toolsets.loaded_tool import Inventory, LoadedTool
from toolmesh_runtime.toolsets.locate import ProgramMissingError, find_manifests, find_program
from toolmesh_runtime.toolsets.schema_probe import ProbeError, describe_program
from toolmesh_sandbox.errors import SandboxError
from toolmesh_sandbox.limits import ResourceLimits
from toolmesh_sandbox.profiles import profile
from toolmesh_sandbox.published import publish_tree

__all__ = ["Discovery", "DiscoverySettings"]

_log: Final = logging.getLogger(__name__)
_PROBES_AT_ONCE: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscoverySettings:
    """What a worker serves, and its defaults for what a manifest leaves open."""

    toolsets: tuple[Path, ...]
    pool: str
    base: Path
    """The sandbox's base folder, for snapshots."""
    probe_limit_s: float
    default_timeout_s: float
    default_profile: str
    default_python: str


@dataclass(frozen=True, slots=True)
class _Located:
    """A manifest's tool whose program was found and copied."""

    path: Path
    name: str
    manifest: ToolManifest
    program: ToolProgram

    @property
    def source(self) -> str:
        return f"{self.path.parent.name}/{self.path.name}: {self.name}"


_Answer = ToolDescriptions | ToolmeshError | SandboxError


@dataclass(slots=True)
class Discovery:
    """Reads the folders again and again; a program that has not changed is not asked again.

    Attributes:
        inventory: What the last reading gave.
    """

    settings: DiscoverySettings
    confinement: Confinement
    inventory: Inventory = field(default_factory=Inventory)
    _answers: dict[ToolProgram, _Answer] = field(default_factory=dict)
    _sources: set[Path] = field(default_factory=set)

    async def read(self) -> Inventory:
        """Read everything, and replace the inventory.

        Raises:
            ConfigError: two manifests define the same tool in this pool, a manifest can't be read at all, or a given
                folder holds none.
        """
        manifests = [load_manifest(path) for path in find_manifests(self.settings.toolsets)]
        check_duplicate_tools(manifests)
        problems = [problem for manifest in manifests for problem in _manifest_problems(manifest)]
        located: list[_Located] = []
        for manifest in manifests:
            for name, tool in manifest.tools.items():
                if tool.pool != self.settings.pool:
                    continue
                try:
                    program = await asyncio.to_thread(self._publish, manifest.path, name, tool)
                    located.append(_Located(manifest.path, name, tool, program))
                except (ToolmeshError, SandboxError) as error:
                    problems.append(_problem(manifest.path, name, error))
        await self._ask({each.program for each in located})
        tools: dict[str, LoadedTool] = {}
        for each in located:
            try:
                tools[each.name] = self._loaded(each)
            except (ToolmeshError, SandboxError) as error:
                problems.append(_problem(each.path, each.name, error))
        self.inventory = Inventory(tools, tuple(problems))
        return self.inventory

    def folders(self) -> set[Path]:
        """Return the folders whose files decide what the next reading gives."""
        folders = {path if path.is_dir() else path.parent for path in self.settings.toolsets}
        return folders | self._sources

    def _publish(self, manifest: Path, name: str, tool: ToolManifest) -> ToolProgram:
        found = find_program(manifest, name, tool)
        self._sources.add(found.folder)
        folder = publish_tree(found.folder, self.settings.base, "toolset")
        if not found.is_python and not os.access(folder / found.path, os.X_OK):
            raise ProgramMissingError(
                f"{found.folder / found.path} is not executable and no Python file",
                hint="make it executable, or set `runtime: python` in the manifest",
            )
        policy = profile(tool.sandbox_profile or self.settings.default_profile)
        self.confinement.backend.check(policy)
        return ToolProgram(
            folder=folder,
            path=found.path,
            python=(tool.python or self.settings.default_python) if found.is_python else None,
            policy=policy.with_limits(ResourceLimits(**tool.resource_limits.model_dump())),
        )

    async def _ask(self, programs: set[ToolProgram]) -> None:
        gate = asyncio.Semaphore(_PROBES_AT_ONCE)

        async def ask(program: ToolProgram) -> _Answer:
            async with gate:
                try:
                    return await describe_program(self.confinement, program, limit_s=self.settings.probe_limit_s)
                except (ToolmeshError, SandboxError) as error:
                    return error

        known = {program: self._answers[program] for program in programs if program in self._answers}
        async with asyncio.TaskGroup() as group:
            asked = {program: group.create_task(ask(program)) for program in programs - known.keys()}
        self._answers = known | {program: task.result() for program, task in asked.items()}

    def _loaded(self, located: _Located) -> LoadedTool:
        answer = self._answers[located.program]
        if isinstance(answer, Exception):
            raise answer
        own_name = _own_name(located.name, answer)
        version = located.program.folder.name
        before = self.inventory.tools.get(located.name)
        unchanged = before is not None and before.version == version
        return LoadedTool(
            name=located.name,
            own_name=own_name,
            manifest=located.manifest,
            description=answer.tools[own_name],
            program=located.program,
            version=version,
            source=located.source,
            discovered_ms=before.discovered_ms if before and unchanged else time.time_ns() // 1_000_000,
            default_timeout_s=self.settings.default_timeout_s,
        )


def _own_name(name: str, answer: ToolDescriptions) -> str:
    """Return the program's own name of a manifest's tool: the same one, or that of its only tool."""
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


def _manifest_problems(manifest: Manifest) -> list[ToolProblem]:
    return [
        ToolProblem(
            source=f"{manifest.path.parent.name}/{manifest.path.name}",
            tool=str(problem.path[1]) if len(problem.path) > 1 else "",
            code=ErrorCode.INVALID_CONFIGURATION,
            message=str(problem),
        )
        for problem in manifest.problems
    ]


def _problem(manifest: Path, name: str, error: ToolmeshError | SandboxError) -> ToolProblem:
    code = error.code if isinstance(error, ToolmeshError) else ErrorCode.SANDBOX_UNAVAILABLE
    _log.warning("tool %s of %s is left out: %s", name, manifest, error, extra={"details": getattr(error, "log", "")})
    source = f"{manifest.parent.name}/{manifest.name}"
    return ToolProblem(source=source, tool=name, code=ErrorCode(code), message=str(error))
