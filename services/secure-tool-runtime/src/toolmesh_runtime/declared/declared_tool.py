"""A declared tool that this worker can run, and what the catalog says of it."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from toolmesh_contracts.envelopes.catalog import DECLARED_PROFILE
from toolmesh_contracts.manifest import ToolManifest
from toolmesh_contracts.tool_description import ToolDescription
from toolmesh_contracts.tool_places import VESSEL_NAME
from toolmesh_contracts.vessel import AGENT_INSIDE, DeclaredToolFile
from toolmesh_contracts.vessel import DeclaredTool as DeclaredFile
from toolmesh_runtime.declared.agent_folders import AgentPackage
from toolmesh_runtime.process.confinement import ToolProgram
from toolmesh_runtime.toolsets.loaded_tool import LoadedTool
from toolmesh_sandbox.policy import Policy
from toolmesh_sandbox.profiles import profile

__all__ = ["DeclaredTool", "declared_tools"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredTool(LoadedTool):
    """One declared tool, as of one version of its agent folder.

    Attributes:
        settings: What its file says.
        output_chars: Characters of its output that the model sees.
        workdir: Where it starts, as a path in the sandbox; None: in the workspace.
    """

    settings: DeclaredToolFile
    output_chars: int
    workdir: PurePosixPath | None

    @property
    def file(self) -> PurePosixPath:
        """The file that declares it, below the agent folder."""
        return self.program.path

    @property
    def argv(self) -> tuple[str, ...]:
        """The command, before the arguments of a call."""
        return self.settings.argv(str(AGENT_INSIDE))


def declared_tools(package: AgentPackage, former: Mapping[str, LoadedTool]) -> Iterable[DeclaredTool]:
    """Return the tools of an agent folder.

    Args:
        package: The folder.
        former: What was served before, by name: a tool that has not changed stays as old as it was.
    """
    policy = profile(DECLARED_PROFILE).with_mounts(*package.mounts)
    for name, declared in package.vessel.tools.items():
        tool = _tool(name, declared, package, policy)
        before = former.get(name)
        if isinstance(before, DeclaredTool) and before.version == tool.version:
            tool = replace(tool, discovered_ms=before.discovered_ms)
        yield tool


def _tool(name: str, declared: DeclaredFile, package: AgentPackage, policy: Policy) -> DeclaredTool:
    settings, vessel = declared.settings, package.vessel.settings
    relative = declared.path.relative_to(package.package)
    return DeclaredTool(
        name=name,
        own_name=name,
        # Its scope is one opaque text, which a manifest's grammar of scopes would refuse.
        manifest=ToolManifest.model_construct(executable="", required_scopes=(settings.scope,)),
        description=ToolDescription(
            description=settings.description,
            parameters=settings.parameters,
            timeout_seconds=(settings.service and settings.service.timeout_seconds) or settings.timeout_seconds,
        ),
        program=ToolProgram(
            folder=package.package, path=PurePosixPath(relative), python=None, policy=policy, strict=True
        ),
        version=package.version,
        source=f"{package.folder.name}/{VESSEL_NAME}: {relative}",
        discovered_ms=time.time_ns() // 1_000_000,
        default_timeout_s=vessel.tool_timeout_seconds,
        settings=settings,
        output_chars=vessel.tool_output_chars,
        workdir=package.workdir,
    )
