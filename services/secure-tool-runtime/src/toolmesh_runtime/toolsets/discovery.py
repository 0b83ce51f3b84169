"""Reads the toolset folders: manifests, programs, snapshots, schemas. A broken tool never costs its neighbours."""

import asyncio
import contextlib
import logging
import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolmesh_contracts.config_problems import ConfigError, Problem
from toolmesh_contracts.duplicate_tools import check_duplicate_tools
from toolmesh_contracts.envelopes.catalog import DECLARED_PROFILE, ToolProblem
from toolmesh_contracts.errors import ErrorCode, ToolmeshError
from toolmesh_contracts.manifest import Manifest, ToolManifest, load_manifest
from toolmesh_contracts.tool_places import sort_places
from toolmesh_contracts.worker_config import ServiceEndpoint
from toolmesh_runtime.declared.agent_reading import AgentReading, read_agents
from toolmesh_runtime.declared.declared_tool import DeclaredTool
from toolmesh_runtime.process.confinement import Confinement, ToolProgram
from toolmesh_runtime.toolsets.loaded_tool import Inventory, LoadedTool
from toolmesh_runtime.toolsets.locate import ProgramMissingError, find_manifests, find_program
from toolmesh_runtime.toolsets.own_name import own_name
from toolmesh_runtime.toolsets.program_publishing import ProgramDefaults, publish_program
from toolmesh_runtime.toolsets.schema_cache import SchemaCache
from toolmesh_sandbox.errors import SandboxError
from toolmesh_sandbox.profile_proofs import ProfileProofs

__all__ = ["Discovery", "DiscoverySettings"]

_log: Final = logging.getLogger(__name__)
_EARLIER_VERSIONS: Final = 100


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
    output_bytes: int = 10 * 1024 * 1024
    """Kept of a program's stdout and of its stderr, each."""
    retry_s: float = 300.0
    """A program that could not describe itself is asked again after this long, even if nothing has changed."""
    hidden: tuple[Path, ...] = ()
    """Folders of the worker that no mount of a declared tool may show."""
    services: tuple[ServiceEndpoint, ...] = ()
    """What declared tools with a `service` may have called."""


@dataclass(frozen=True, slots=True)
class _Located:
    """A manifest's tool whose program was found and copied."""

    path: Path
    name: str
    manifest: ToolManifest
    program: ToolProgram

    @property
    def source(self) -> str:
        return f"{_short(self.path)}: {self.name}"


class Discovery:
    """Reads the folders again and again; a program that has not changed is not asked again before it is time.

    Attributes:
        settings: What to read.
        confinement: The sandbox in which programs are asked.
        inventory: What is served.
    """

    def __init__(self, settings: DiscoverySettings, confinement: Confinement) -> None:
        self.settings = settings
        self.confinement = confinement
        self.inventory = Inventory()
        self._proofs = ProfileProofs(confinement.backend, settings.base)
        self._schemas = SchemaCache(confinement, settings.probe_limit_s, settings.retry_s)
        self._sources: set[Path] = set()
        self._earlier: OrderedDict[tuple[str, str], DeclaredTool] = OrderedDict()

    async def read(self) -> Inventory:
        """Read everything for the first time, and serve it.

        Raises:
            ConfigError: two manifests define the same tool in this pool, a manifest can't be read at all, or a given
                folder holds none.
        """
        manifests = [load_manifest(path) for path in find_manifests(sort_places(self.settings.toolsets).toolsets)]
        self.inventory = await _Reading(self).of(manifests)
        return self.inventory

    async def read_again(self) -> Inventory:
        """Read everything anew, without serving it yet: that is `adopt`'s part.

        What was served stays if its successor can't be: the reason is among the problems. What is no longer there goes.

        Raises:
            ConfigError: two manifests define the same tool in this pool.
        """
        reading = _Reading(self)
        return await reading.of(reading.usable_manifests())

    def adopt(self, inventory: Inventory) -> None:
        """Serve what a reading gave; of declared tools that it replaces, calls that name the old version still run."""
        for name, tool in self.inventory.tools.items():
            if isinstance(tool, DeclaredTool):
                self._earlier[name, tool.version] = tool
                self._earlier.move_to_end((name, tool.version))
        while len(self._earlier) > _EARLIER_VERSIONS:
            self._earlier.popitem(last=False)
        self.inventory = inventory

    def served(self, name: str, version: str | None) -> LoadedTool | None:
        """Return a tool in the version that a call names, if it names one; None if that is not served here."""
        tool = self.inventory.tools.get(name)
        if tool is None or version in {None, tool.version}:
            return tool
        return self._earlier.get((name, version))

    def read_agents(self) -> AgentReading:
        """Publish and read the agent folders among the places that are served."""
        settings = self.settings
        reading = read_agents(
            settings.toolsets,
            settings.base,
            settings.hidden,
            self.confinement.backend,
            self.inventory.tools,
            settings.services,
        )
        self._sources |= set(reading.watched)
        return reading

    def schema_due_at(self) -> float:
        """Return when (`time.monotonic`) a program has to be asked again although nothing has changed."""
        return self._schemas.due_at

    def folders(self) -> set[Path]:
        """Return the folders whose files decide what the next reading gives."""
        folders = set(self._sources)
        places = sort_places(self.settings.toolsets)
        folders |= set(places.agents)
        for place in places.toolsets:
            with contextlib.suppress(ConfigError):  # nothing there now
                folders |= {manifest.parent for manifest in find_manifests([place])}
        return folders

    async def unproved(self, profiles: Iterable[str]) -> dict[str, SandboxError]:
        """Prove those of the profiles that were not proved yet; return why some don't hold, by profile."""
        return await self._proofs.failures(profiles)

    def profile_of(self, tool: ToolManifest) -> str:
        """Return the name of the profile that a tool runs under."""
        return tool.sandbox_profile or self.settings.default_profile

    async def publish(self, manifest: Path, name: str, tool: ToolManifest) -> ToolProgram:
        """Find and copy a tool's program; errors as `find_program` and `publish_program`."""
        return await asyncio.to_thread(self._publish, manifest, name, tool)

    def _publish(self, manifest: Path, name: str, tool: ToolManifest) -> ToolProgram:
        found = find_program(manifest, name, tool)
        self._sources.add(found.folder)
        defaults = ProgramDefaults(
            profile=self.settings.default_profile,
            python=self.settings.default_python,
            output_bytes=self.settings.output_bytes,
        )
        return publish_program(found, tool, self.settings.base, self.confinement.backend, defaults)

    async def ask(self, located: Iterable[_Located]) -> None:
        """Have an answer of each tool's program that is not too old."""
        refresh: dict[ToolProgram, float | None] = {}
        for each in located:
            wanted = [refresh.get(each.program), each.manifest.schema_refresh_seconds]
            refresh[each.program] = min((seconds for seconds in wanted if seconds is not None), default=None)
        await self._schemas.ask(refresh)

    def loaded(self, located: _Located) -> LoadedTool:
        """Return a tool whose program has answered; raises why it has not."""
        answer = self._schemas.answer(located.program)
        name = own_name(located.name, answer)
        version, description = located.program.folder.name, answer.tools[name]
        before = self.inventory.tools.get(located.name)
        unchanged = before is not None and (before.version, before.description) == (version, description)
        tool = LoadedTool(
            name=located.name,
            own_name=name,
            manifest=located.manifest,
            description=description,
            program=located.program,
            version=version,
            source=located.source,
            discovered_ms=before.discovered_ms if before and unchanged else time.time_ns() // 1_000_000,
            default_timeout_s=self.settings.default_timeout_s,
        )
        if tool.rules.unusable and not unchanged:
            _log.warning("%s: arguments are only checked to be there: %s", tool.source, tool.rules.unusable)
        return tool


class _Reading:
    """One reading of the folders: the tools found so far, and what is wrong."""

    def __init__(self, discovery: Discovery) -> None:
        self._discovery = discovery
        self._tools: dict[str, LoadedTool] = {}
        self._problems: list[ToolProblem] = []

    def usable_manifests(self) -> list[Manifest]:
        """Load what can be loaded; the tools of a manifest that is there but can't be used stay as they were."""
        manifests: list[Manifest] = []
        paths: dict[Path, None] = {}
        for place in sort_places(self._discovery.settings.toolsets).toolsets:
            try:
                paths |= dict.fromkeys(find_manifests([place]))
            except ConfigError as error:
                if not place.is_dir():  # an empty folder of toolset folders is no mistake: the last one was removed
                    self._note_all(place, error.problems)
        for path in paths:
            try:
                manifests.append(load_manifest(path))
            except ConfigError as error:
                former = [name for name, tool in self._former().items() if tool.source.startswith(f"{_short(path)}: ")]
                self._tools |= {name: self._former()[name] for name in former}
                self._note_all(path, error.problems)
        return manifests

    async def of(self, manifests: list[Manifest]) -> Inventory:
        """Return what these manifests give, in their order. Raises ConfigError for a tool that is defined twice."""
        agents = await asyncio.to_thread(self._discovery.read_agents)
        declared = [(tool.name, file) for tool, file in agents.tools]
        check_duplicate_tools(manifests, declared, self._discovery.settings.pool)
        pool = self._discovery.settings.pool
        ours = [(each.path, name, tool) for each in manifests for name, tool in each.tools.items() if tool.pool == pool]
        profiles = {self._discovery.profile_of(tool) for _, _, tool in ours}
        unproved = await self._discovery.unproved(profiles | ({DECLARED_PROFILE} if agents.tools else set()))
        self._add_declared(agents, unproved.get(DECLARED_PROFILE))
        for manifest in manifests:
            self._manifest_problems(manifest)
        located = await self._located(ours, unproved)
        await self._discovery.ask(located)
        for each in located:
            try:
                self._tools[each.name] = self._discovery.loaded(each)
            except (ToolmeshError, SandboxError) as error:
                self._left_out(each.path, each.name, error)
        return Inventory(self._tools, tuple(self._problems))

    async def _located(
        self, ours: Iterable[tuple[Path, str, ToolManifest]], unproved: Mapping[str, SandboxError]
    ) -> list[_Located]:
        """Publish the programs of tools whose profiles hold here."""
        located: list[_Located] = []
        for path, name, tool in ours:
            if failure := unproved.get(self._discovery.profile_of(tool)):
                self._left_out(path, name, failure)
                continue
            try:
                program = await self._discovery.publish(path, name, tool)
            except (ToolmeshError, SandboxError) as error:
                self._left_out(path, name, error)
            else:
                located.append(_Located(path, name, tool, program))
        return located

    def _add_declared(self, agents: AgentReading, unproved: SandboxError | None) -> None:
        if unproved is None:
            self._tools |= {tool.name: tool for tool, _ in agents.tools}
        else:
            for tool, file in agents.tools:
                self._left_out(file, tool.name, unproved)
        for folder in agents.unreadable:
            former = [
                name for name, tool in self._former().items() if tool.source.startswith(f"{folder.name}/vessel.toml")
            ]
            self._tools |= {name: self._former()[name] for name in former if name not in self._tools}
        for name, problem in agents.problems:
            self._note(Path(problem.file), name, str(problem))

    def _former(self) -> dict[str, LoadedTool]:
        return dict(self._discovery.inventory.tools)

    def _keep_former(self, name: str) -> str:
        """Go on with what was served under this name; return what to add to the problem's message."""
        former = self._former().get(name)
        if former is None:
            return ""
        self._tools[name] = former
        return f"; the former version {former.version[:8]} is still served"

    def _left_out(self, manifest: Path, name: str, error: ToolmeshError | SandboxError) -> None:
        kept = "" if isinstance(error, ProgramMissingError) else self._keep_former(name)
        code = error.code if isinstance(error, ToolmeshError) else ErrorCode.SANDBOX_UNAVAILABLE
        problem = ToolProblem(source=_short(manifest), tool=name, code=ErrorCode(code), message=f"{error}{kept}")
        if problem not in self._discovery.inventory.problems:
            details = getattr(error, "log", "")
            _log.warning("tool %s of %s: %s%s", name, manifest, error, kept, extra={"details": details})
        self._problems.append(problem)

    def _manifest_problems(self, manifest: Manifest) -> None:
        for problem in manifest.problems:
            name = str(problem.path[1]) if len(problem.path) > 1 else ""
            kept = self._keep_former(name)
            self._note(manifest.path, name, f"{problem}{kept}")

    def _note_all(self, path: Path, problems: Iterable[Problem]) -> None:
        for problem in problems:
            self._note(path, "", str(problem))

    def _note(self, path: Path, tool: str, message: str) -> None:
        code = ErrorCode.INVALID_CONFIGURATION
        problem = ToolProblem(source=_short(path), tool=tool, code=code, message=message)
        if problem not in self._discovery.inventory.problems:
            _log.warning("%s", message)
        self._problems.append(problem)


def _short(path: Path) -> str:
    """Name a file for messages that leave this machine: no host path."""
    return f"{path.parent.name}/{path.name}"
