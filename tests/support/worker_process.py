"""A worker as a process of its own, for tests that kill it, count what it holds, or let it drop its user."""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import yaml
from tests.support.worker_mesh import WorkerMesh, served_by


@contextlib.asynccontextmanager
async def worker_process(
    mesh: WorkerMesh,
    toolsets: Sequence[Path],
    worker_id: str = "worker-1",
    *,
    log: Path | None = None,
    served: int | None = None,
    **changes: object,
) -> AsyncIterator[asyncio.subprocess.Process]:
    """A worker process that serves its tools; killed at the end if it is still there.

    `log` takes what it writes to stderr; without it that is lost. `served` as in `worker_in_process`.
    """
    config = mesh.worker_config(worker_id, toolsets, **changes)
    path = mesh.folder / f"{worker_id}.yaml"
    path.write_text(yaml.safe_dump(config.model_dump(mode="json", exclude_none=True)))
    with contextlib.ExitStack() as stack:
        stderr = asyncio.subprocess.DEVNULL if log is None else stack.enter_context(log.open("wb"))
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "toolmesh_runtime", str(path), stderr=stderr
        )
    try:
        await served_by(mesh, worker_id, toolsets, served)
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
