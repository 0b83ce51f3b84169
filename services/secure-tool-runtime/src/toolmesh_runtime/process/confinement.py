"""How a program is started in the sandbox: command, environment, mounts and limits."""

import asyncio
from asyncio.subprocess import DEVNULL
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

import toolmesh_sdk
from toolmesh_sandbox.backend import Backend
from toolmesh_sandbox.policy import Mount, Policy
from toolmesh_sandbox.process import SandboxProcess
from toolmesh_sandbox.published import publish_files
from toolmesh_sandbox.workspaces import Workspace
from toolmesh_telemetry.logs import get_logger

__all__ = ["SDK_INSIDE", "TOOLSET_INSIDE", "Confinement", "ToolProgram", "publish_sdk"]

_log: Final = get_logger(__name__)
_PATH: Final = "/usr/local/bin:/usr/bin:/bin"
TOOLSET_INSIDE: Final = PurePosixPath("/opt/toolmesh/toolset")
SDK_INSIDE: Final = PurePosixPath("/opt/toolmesh/sdk")
_LAUNCHER: Final = "toolmesh_sdk/launch.py"
_STRICT: Final = "--strict"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolProgram:
    """A program in a published toolset folder.

    Attributes:
        folder: The published folder on the host.
        path: The program in it.
        python: The interpreter to run it with; None runs it as it is.
        policy: Its profile with its limits, without mounts.
        strict: A published SDK that it brings along runs as it is, and its description is shown as it is.
    """

    folder: Path
    path: PurePosixPath
    python: str | None
    policy: Policy
    strict: bool = False

    @property
    def takes_descriptor(self) -> bool:
        """Whether it reaches the model by a descriptor: under our launcher both SDKs do, and need no socket."""
        return self.python is not None and not self.strict


async def publish_sdk(base: Path, python: str) -> Path:
    """Copy the SDK to where a tool's own user can read it, and return the folder to import it from.

    It is compiled for `python`, which saves about half of a call's CPU time: a tool can't keep what it compiles.
    """
    package = Path(toolmesh_sdk.__file__).parent
    files = {
        f"toolmesh_sdk/{path.relative_to(package)}": path
        for path in package.rglob("*")
        if "__pycache__" not in path.parts
    }
    folder = await asyncio.to_thread(publish_files, {"toolmesh_sdk": package, **files}, base, "sdk")
    command = (python, "-I", "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash", str(folder))
    try:
        process = await asyncio.create_subprocess_exec(*command, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL, env={})
    except OSError as error:
        _log.warning("the SDK could not be compiled", python=python, reason=str(error))
        return folder
    try:
        await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return folder


@dataclass(frozen=True, slots=True)
class Confinement:
    """A backend and the SDK that it shows to Python tools."""

    backend: Backend
    sdk: Path

    @asynccontextmanager
    async def start(
        self,
        program: ToolProgram,
        arguments: tuple[str, ...],
        workspace: Workspace,
        wall_clock_s: float,
        connection: int | None = None,
    ) -> AsyncIterator[SandboxProcess]:
        """Start a program; leaving the block kills all that is left of it.

        Args:
            program: What to start.
            arguments: Its command line.
            workspace: Where it works.
            wall_clock_s: Seconds after which it is killed.
            connection: A descriptor that it has as number `CONNECTION`.

        Raises:
            SandboxError: the backend refuses the policy, or can't start anything.
        """
        toolset = Mount(program.folder, TOOLSET_INSIDE)
        sdk = Mount(self.sdk, SDK_INSIDE)
        policy = program.policy.with_mounts(toolset, sdk).with_wall_clock(wall_clock_s)
        folder, library = self.backend.path_inside(toolset), self.backend.path_inside(sdk)
        argv = (str(folder / program.path), *arguments)
        if program.python is not None:
            options = (_STRICT,) if program.strict else ()
            argv = (program.python, str(library / _LAUNCHER), *options, *argv)
        environment = self._environment(folder, self.backend.inside(workspace))
        async with self.backend.start(argv, environment, policy, workspace, connection=connection) as process:
            yield process

    @staticmethod
    def _environment(folder: PurePosixPath, home: PurePosixPath) -> Mapping[str, str]:
        return {
            "PATH": _PATH,
            "LANG": "C.UTF-8",
            "HOME": str(home),
            "TMPDIR": str(home),
            "PYTHONPATH": f"{folder}/python:{folder}",
            "PYTHONUTF8": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
