"""The sandbox of commands that need no server."""

import contextlib
from collections.abc import AsyncIterator

from toolmesh_cli.sandbox_check import check_sandbox
from toolmesh_cli.terminal import Terminal
from toolmesh_runtime.workbench.bench import Bench, BenchSettings, open_bench

__all__ = ["author_bench"]


@contextlib.asynccontextmanager
async def author_bench(terminal: Terminal, *, sandboxed: bool, profile: str | None = None) -> AsyncIterator[Bench]:
    """Open the sandbox, and warn if there is none.

    Raises:
        ToolmeshError, SandboxError: this system has no sandbox, or it does not work here.
    """
    check_sandbox("bwrap" if sandboxed else "direct")
    if not sandboxed:
        terminal.warning("tools run WITHOUT isolation: they can read and change whatever you can")
    async with open_bench(BenchSettings(profile=profile, sandboxed=sandboxed)) as bench:
        yield bench
