"""A sandbox whose programs' own output is passed on: a worker logs it, the author of a tool wants to see it."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from toolmesh_runtime.process.confinement import Confinement, ToolProgram
from toolmesh_sandbox.process import SandboxProcess
from toolmesh_sandbox.workspaces import Workspace

__all__ = ["OverheardConfinement"]


@dataclass(frozen=True, slots=True)
class OverheardConfinement(Confinement):
    """Gives each program's stdout and stderr, as far as they are kept, to `on_output` when it has ended."""

    on_output: Callable[[bytes, bytes], None]

    @asynccontextmanager
    async def start(
        self,
        program: ToolProgram,
        arguments: tuple[str, ...],
        workspace: Workspace,
        wall_clock_s: float,
        connection: int | None = None,
    ) -> AsyncIterator[SandboxProcess]:
        """Start a program; see `Confinement.start`."""
        async with Confinement.start(self, program, arguments, workspace, wall_clock_s, connection) as process:
            yield process
            ended = await process.wait()
        self.on_output(ended.stdout, ended.stderr)
