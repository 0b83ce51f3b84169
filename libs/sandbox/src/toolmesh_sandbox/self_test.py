"""The self-test: what this machine gives under a worker's settings, for `toolmesh doctor --sandbox`."""

import asyncio
import os
from pathlib import Path

from toolmesh_sandbox.backend import Backend
from toolmesh_sandbox.bwrap_backend import BwrapBackend
from toolmesh_sandbox.errors import SandboxError, SandboxUnavailableError
from toolmesh_sandbox.opening import examine
from toolmesh_sandbox.self_test_report import ProfileReport, Promise, SelfTestReport
from toolmesh_sandbox.settings import SandboxSettings

__all__ = ["ProfileReport", "Promise", "SelfTestReport", "run"]

_VERSION_S = 5.0


async def run(settings: SandboxSettings) -> SelfTestReport:
    """Attack every promise of `settings.profiles`, and report; a machine that can't start a sandbox is a report too."""
    try:
        async with examine(settings) as backend:
            return SelfTestReport(
                mode=settings.mode,
                level=backend.level,
                floor=settings.floor,
                program=await _program(backend),
                memory=backend.memory_bound,
                profiles=backend.proofs,
            )
    except SandboxError as failure:
        missing = failure.missing if isinstance(failure, SandboxUnavailableError) else ""
        return SelfTestReport(
            mode=settings.mode,
            level=None,
            floor=settings.floor,
            error=failure.message,
            missing=missing,
            hint=failure.hint,
        )


async def _program(backend: Backend) -> str:
    if not isinstance(backend, BwrapBackend):
        return ""
    program: Path = backend.host.program
    try:
        async with asyncio.timeout(_VERSION_S):
            process = await asyncio.create_subprocess_exec(
                program, "--version", stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, env={}
            )
            said, _ = await process.communicate()
    except (OSError, TimeoutError):
        return os.fspath(program)
    return f"{program}: {said.decode(errors='replace').strip()}"
