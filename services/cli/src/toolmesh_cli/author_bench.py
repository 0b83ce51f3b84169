"""The sandbox of commands that need no server."""

import contextlib
from collections.abc import AsyncIterator
from typing import Final, get_args

from toolmesh_cli.sandbox_check import check_sandbox
from toolmesh_cli.terminal import Terminal
from toolmesh_contracts.config_problems import nearest
from toolmesh_contracts.errors import ErrorCode, ToolmeshError
from toolmesh_contracts.manifest import SandboxProfile
from toolmesh_runtime.workbench.bench import Bench, BenchSettings, open_bench

__all__ = ["author_bench", "checked_profile"]

_PROFILES: Final = get_args(SandboxProfile)


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


def checked_profile(name: str | None) -> str | None:
    """Return the profile that a person gave, if a manifest could name it.

    Raises:
        ToolmeshError: there is none of this name for tools of a manifest.
    """
    if name is None or name in _PROFILES:
        return name
    near = nearest(name, _PROFILES)
    raise ToolmeshError(
        f"--profile: there is no sandbox profile {name!r} for tools of a manifest",
        code=ErrorCode.INVALID_CONFIGURATION,
        hint=f"did you mean {near!r}?" if near else f"use {', '.join(_PROFILES)}",
    )
