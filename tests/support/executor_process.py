"""An executor as a process of its own, that a test may kill."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import BinaryIO

from tests.support.python_commands import module_command

__all__ = ["spawned_executor"]

_READY_S = 40


@asynccontextmanager
async def spawned_executor(
    config: Path, log: Path, environment: Mapping[str, str], *, ready: bool = True
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run an executor, whose output is added to `log`; it is killed at the end, if it is still there.

    Args:
        config: Its configuration.
        log: Where it logs.
        environment: Its variables.
        ready: Whether to wait until it says that it is.
    """
    began = len(_said(log))
    with _opened(log) as sink:
        process = await asyncio.create_subprocess_exec(
            *module_command("toolmesh_executor", str(config)), stdout=sink, stderr=sink, env=dict(environment)
        )
    try:
        async with asyncio.timeout(_READY_S):
            while ready and '"ready"' not in _said(log)[began:]:
                assert process.returncode is None, _said(log)
                await asyncio.sleep(0.05)
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def _said(log: Path) -> str:
    return log.read_text(errors="replace") if log.exists() else ""


def _opened(log: Path) -> BinaryIO:
    return log.open("ab")
