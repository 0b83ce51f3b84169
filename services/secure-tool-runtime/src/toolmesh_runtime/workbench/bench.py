"""A sandbox on the author's machine, and the tools that it describes and runs."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from toolmesh_contracts.tool_description import ToolDescription, ToolDescriptions
from toolmesh_runtime.process.confinement import Confinement, ToolProgram, publish_sdk
from toolmesh_runtime.toolsets.loaded_tool import LoadedTool
from toolmesh_runtime.toolsets.locate import Program, ProgramMissingError
from toolmesh_runtime.toolsets.own_name import own_name
from toolmesh_runtime.toolsets.program_publishing import (
    SHELF,
    ProgramDefaults,
    publish_program,
    ready_program,
)
from toolmesh_runtime.toolsets.schema_probe import ProbeError, describe_program
from toolmesh_runtime.workbench.entries import Entry
from toolmesh_sandbox.base_folder import open_base
from toolmesh_sandbox.opening import open_backend
from toolmesh_sandbox.published import publish_files
from toolmesh_sandbox.settings import Mode, SandboxSettings

__all__ = ["Bench", "BenchSettings", "open_bench"]

_PROBE_LIMIT_S: Final = 30.0
_DEFAULT_TIMEOUT_S: Final = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchSettings:
    """How tools are isolated here.

    Attributes:
        profile: For all tools, whatever their manifests say; None leaves it to them.
        python: Interpreter of Python tools whose manifest names none.
        sandboxed: False runs tools without isolation.
    """

    profile: str | None = None
    python: str = "/usr/bin/python3"
    sandboxed: bool = True


@dataclass(frozen=True, slots=True)
class Bench:
    """Describes tools. Made by `open_bench`."""

    settings: BenchSettings
    confinement: Confinement
    base: Path

    async def describe(self, entry: Entry, config: Mapping[str, Any] | None = None) -> dict[str, LoadedTool]:
        """Ask an entry's program for its tools: the one that the manifest names, or all of a lone program.

        Args:
            entry: What to ask.
            config: The operator's settings, for tools whose schema depends on them.

        Raises:
            ToolmeshError: the program is missing, fails, or says nothing that can be used.
            SandboxError: it can't be started here.
        """
        if entry.program is None:
            raise entry.missing or ProgramMissingError(f"{entry.path} has no program")
        program = await asyncio.to_thread(self._publish, entry, entry.program)
        plain, configured = await self._ask(program, config)
        names = list(plain.tools) if entry.is_alone else [own_name(entry.name, plain)]
        if not names:
            raise ProbeError("; ".join(plain.problems.values()))
        return {
            entry.name or name: self._loaded(entry, name, program, _under_config(name, plain, configured))
            for name in names
        }

    async def _ask(
        self, program: ToolProgram, config: Mapping[str, Any] | None
    ) -> tuple[ToolDescriptions, ToolDescriptions | None]:
        if config is None:
            return await describe_program(self.confinement, program, limit_s=_PROBE_LIMIT_S), None
        # A configuration may rename a tool; the program still looks it up by the name that it has without one.
        plain = await describe_program(self.confinement, program, limit_s=_PROBE_LIMIT_S)
        limit_s = _PROBE_LIMIT_S
        return plain, await describe_program(self.confinement, program, limit_s=limit_s, tool_config=config)

    def _publish(self, entry: Entry, program: Program) -> ToolProgram:
        backend = self.confinement.backend
        defaults = ProgramDefaults(profile=self.settings.profile or "standard", python=self.settings.python)
        tool = entry.manifest
        if self.settings.profile is not None:
            tool = tool.model_copy(update={"sandbox_profile": self.settings.profile})
        if not entry.is_alone:
            return publish_program(program, tool, self.base, backend, defaults)
        folder = publish_files(_lone_files(program), self.base, SHELF)
        return ready_program(program, folder, tool, backend, defaults)

    def _loaded(self, entry: Entry, name: str, program: ToolProgram, description: ToolDescription) -> LoadedTool:
        return LoadedTool(
            name=entry.name or name,
            own_name=name,
            manifest=entry.manifest,
            description=description,
            program=program,
            version=program.folder.name,
            source=f"{entry.path.parent.name}/{entry.path.name}: {entry.name or name}",
            discovered_ms=time.time_ns() // 1_000_000,
            default_timeout_s=_DEFAULT_TIMEOUT_S,
        )


@contextlib.asynccontextmanager
async def open_bench(settings: BenchSettings) -> AsyncIterator[Bench]:
    """Open the sandbox that a worker on this machine would have.

    Raises:
        SandboxError: this machine can't isolate tools.
    """
    mode = Mode.BWRAP if settings.sandboxed else Mode.DIRECT
    sandbox = SandboxSettings(
        mode=mode, profiles=(settings.profile or "standard",), allow_direct=not settings.sandboxed
    )
    base = await asyncio.to_thread(open_base, sandbox.base)
    sdk = asyncio.ensure_future(publish_sdk(base, settings.python))
    try:
        async with open_backend(sandbox) as backend:
            yield Bench(settings, Confinement(backend, await sdk), base)
    finally:
        sdk.cancel()
        await asyncio.gather(sdk, return_exceptions=True)


def _under_config(name: str, plain: ToolDescriptions, configured: ToolDescriptions | None) -> ToolDescription:
    if configured is None:
        return plain.tools[name]
    if name in configured.tools:
        return configured.tools[name]
    renamed = [said for other, said in configured.tools.items() if other not in plain.tools]
    if renamed:
        return renamed[0]
    raise ProbeError(f"with this configuration its program no longer has the tool {name!r}")


def _lone_files(program: Program) -> dict[str, Path]:
    """Return the program and the Python files beside it, which it may import; nothing else of its folder is shown."""
    own = program.folder / program.path
    beside = [path for path in program.folder.glob("*.py") if program.is_python and not path.is_symlink()]
    return {path.name: path for path in sorted([own, *beside]) if path.is_file()}
