"""Toolset folders with small Python programs, and a discovery that reads them without a worker."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from toolmesh_runtime.process.confinement import Confinement, publish_sdk
from toolmesh_runtime.toolsets.discovery import Discovery, DiscoverySettings
from toolmesh_sandbox.base_folder import open_base
from toolmesh_sandbox.opening import open_backend
from toolmesh_sandbox.settings import SandboxSettings

GOOD = '''
from toolmesh_sdk import tool_cli

def good(city: str) -> str:
    """Tell something about a city."""
    return city

cli = tool_cli(good)
if __name__ == "__main__":
    cli()
'''


@asynccontextmanager
async def discovery(
    toolset: Path, limit_s: float = 20, retry_s: float = 300, **sandbox_settings: Any
) -> AsyncIterator[Discovery]:
    sandbox = SandboxSettings(**sandbox_settings)
    async with open_backend(sandbox) as backend:
        base = open_base(sandbox.base)
        settings = DiscoverySettings(
            toolsets=(toolset,),
            pool="default",
            base=base,
            probe_limit_s=limit_s,
            default_timeout_s=300,
            default_profile="standard",
            default_python="/usr/bin/python3",
            retry_s=retry_s,
        )
        yield Discovery(settings, Confinement(backend, await publish_sdk(base, "/usr/bin/python3")))


def toolset(folder: Path, **programs: str) -> Path:
    """A folder with one Python tool for each program, and a manifest that lists them all."""
    lines = ["version: 1", "tools:"]
    for name, text in programs.items():
        (folder / name).mkdir(parents=True)
        (folder / name / f"{name}.py").write_text(text)
        lines.append(f"  {name}: {{executable: {name}}}")
    (folder / "manifest.yaml").write_text("\n".join(lines) + "\n")
    return folder
