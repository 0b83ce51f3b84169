"""A worker as a process of its own, for tests that kill it, count what it holds, or let it drop its user."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

import yaml
from tests.support.python_commands import module_command
from tests.support.worker_mesh import Server, WorkerMesh, served_by


@contextlib.asynccontextmanager
async def worker_process(
    mesh: WorkerMesh[Server],
    toolsets: Sequence[Path],
    worker_id: str = "worker-1",
    *,
    served: int | None = None,
    environment: Mapping[str, str] | None = None,
    inherited: Sequence[int] = (),
    prefix: Sequence[str] = (),
    ready: bool = True,
    **changes: object,
) -> AsyncIterator[asyncio.subprocess.Process]:
    """A worker that serves its tools and logs to `<worker_id>.log` in the mesh's folder; killed at the end if it is there.

    Args:
        mesh: Its broker, and where its files lie.
        toolsets: What it serves.
        worker_id: Its name.
        served: As in `worker_in_process`.
        environment: Its variables; None: this process's.
        inherited: Further descriptors that it has.
        prefix: What its command line begins with, such as that of a `Machine`.
        ready: Whether to wait until it serves its tools.
        changes: Keys of its configuration.
    """
    config = mesh.worker_config(worker_id, toolsets, **changes)
    path = mesh.folder / f"{worker_id}.yaml"
    path.write_text(yaml.safe_dump(config.model_dump(mode="json", exclude_none=True)))
    with (mesh.folder / f"{worker_id}.log").open("ab") as log:
        process = await asyncio.create_subprocess_exec(
            *prefix,
            *module_command("toolmesh_runtime", str(path)),
            stdout=log,
            stderr=log,
            env=environment,
            pass_fds=inherited,
        )
    try:
        if ready:
            await _ready(mesh, process, worker_id, toolsets, served)
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def _ready(
    mesh: WorkerMesh[Server],
    process: asyncio.subprocess.Process,
    worker_id: str,
    toolsets: Sequence[Path],
    served: int | None,
) -> None:
    serving = asyncio.create_task(served_by(mesh, worker_id, toolsets, served))
    ending = asyncio.create_task(process.wait())
    try:
        await asyncio.wait({serving, ending}, return_when=asyncio.FIRST_COMPLETED)
        if serving.done() and serving.exception() is None:
            return
    finally:
        serving.cancel()
        ending.cancel()
        await asyncio.wait({serving, ending})
    said = (mesh.folder / f"{worker_id}.log").read_text(errors="replace")
    raise AssertionError(f"{worker_id} does not serve its tools:\n{said[-3000:]}")
