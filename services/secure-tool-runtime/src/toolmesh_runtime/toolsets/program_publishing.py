"""Makes a found program ready to be started: a copy that the sandbox shows, an interpreter, a policy."""

import os
from dataclasses import dataclass, replace
from pathlib import Path

from toolmesh_contracts.manifest import ToolManifest
from toolmesh_runtime.process.confinement import ToolProgram
from toolmesh_runtime.toolsets.locate import Program, ProgramMissingError
from toolmesh_sandbox.backend import Backend
from toolmesh_sandbox.limits import ResourceLimits
from toolmesh_sandbox.profiles import profile
from toolmesh_sandbox.published import publish_tree

__all__ = ["ProgramDefaults", "publish_program", "ready_program"]

SHELF = "toolset"
"""Where snapshots of toolsets lie below the sandbox's base folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramDefaults:
    """The worker's word on what a manifest leaves open."""

    profile: str
    python: str
    output_bytes: int = 10 * 1024 * 1024
    """Kept of stdout and of stderr, each."""


def publish_program(
    found: Program, tool: ToolManifest, base: Path, backend: Backend, defaults: ProgramDefaults
) -> ToolProgram:
    """Copy a program's folder to where the tool's own user can read it.

    Raises:
        ProgramMissingError: it is neither executable nor a Python file.
        SandboxError: the folder can't be copied, or the backend refuses the tool's profile.
    """
    return ready_program(found, publish_tree(found.folder, base, SHELF), tool, backend, defaults)


def ready_program(
    found: Program, folder: Path, tool: ToolManifest, backend: Backend, defaults: ProgramDefaults
) -> ToolProgram:
    """Return the program in its published `folder`; errors as `publish_program`."""
    if not found.is_python and not os.access(folder / found.path, os.X_OK):
        raise ProgramMissingError(
            f"{found.folder / found.path} is not executable and no Python file",
            hint="make it executable, or set `runtime: python` in the manifest",
        )
    policy = replace(
        profile(tool.sandbox_profile or defaults.profile),
        stdout_bytes=defaults.output_bytes,
        stderr_bytes=defaults.output_bytes,
    )
    backend.check(policy)
    return ToolProgram(
        folder=folder,
        path=found.path,
        python=(tool.python or defaults.python) if found.is_python else None,
        policy=policy.with_limits(ResourceLimits(**tool.resource_limits.model_dump())),
        strict=tool.compat == "strict",
    )
