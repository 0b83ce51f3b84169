"""A whole mesh of real processes for one test: `toolmesh up` with its own data folder, and commands against it."""

import asyncio
import contextlib
import os
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

READY_DEADLINE_S = 30.0
STOP_DEADLINE_S = 20.0
COMMAND_DEADLINE_S = 40.0


@dataclass(frozen=True)
class Finished:
    """How a command ended."""

    code: int
    stdout: str
    stderr: str


@dataclass
class RunningMesh:
    """A mesh that answered with its ready line."""

    data_folder: Path
    process: asyncio.subprocess.Process
    ready_line: str = ""
    progress: list[str] = field(default_factory=list)
    """What `up` printed on stderr so far, line by line."""

    async def toolmesh(self, *arguments: str, stdin: bytes | None = None) -> Finished:
        """Runs one `toolmesh` command against this mesh."""
        return await run_toolmesh(*arguments, data_folder=self.data_folder, stdin=stdin)

    def logs(self) -> str:
        """All of the mesh's log files, for a failing test's message."""
        files = sorted((self.data_folder / "logs").glob("*.log"))
        return "\n".join(f"== {file.name}\n{file.read_text(errors='replace')[-4000:]}" for file in files)

    def hang_up(self) -> None:
        """Closes the other end of the mesh's stderr, as a closed terminal does."""
        assert self.process.stderr is not None
        self.process.stderr._transport.close()  # type: ignore[attr-defined]

    async def interrupt(self) -> int:
        """Presses Ctrl-C and returns the exit code after everything has stopped."""
        if self.process.returncode is None:
            self.process.send_signal(signal.SIGINT)
        async with asyncio.timeout(STOP_DEADLINE_S):
            return await self.process.wait()


def toolmesh_environment(data_folder: Path | None = None) -> dict[str, str]:
    """The test's environment without what would colour or redirect the output."""
    unwanted = {"NO_COLOR", "FORCE_COLOR", "PY_COLORS", "TOOLMESH_DATA", "TOOLMESH_DEBUG", "TOOLMESH_MODEL"}
    environment = {name: value for name, value in os.environ.items() if name not in unwanted}
    if data_folder is not None:
        environment["TOOLMESH_DATA"] = str(data_folder)
    return environment


async def start_toolmesh(
    *arguments: str,
    data_folder: Path | None = None,
    stdin: int = asyncio.subprocess.DEVNULL,
    extra_environment: Mapping[str, str] | None = None,
) -> asyncio.subprocess.Process:
    """Starts `toolmesh ARGUMENTS` in a process group of its own, with pipes."""
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "toolmesh_cli",
        *arguments,
        stdin=stdin,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=toolmesh_environment(data_folder) | dict(extra_environment or {}),
        start_new_session=True,
    )


async def run_toolmesh(
    *arguments: str,
    data_folder: Path | None = None,
    stdin: bytes | None = None,
    extra_environment: Mapping[str, str] | None = None,
) -> Finished:
    """Runs `toolmesh ARGUMENTS` to its end; kills it and raises TimeoutError after 40 s."""
    process = await start_toolmesh(
        *arguments,
        data_folder=data_folder,
        stdin=asyncio.subprocess.DEVNULL if stdin is None else asyncio.subprocess.PIPE,
        extra_environment=extra_environment,
    )
    try:
        async with asyncio.timeout(COMMAND_DEADLINE_S):
            stdout, stderr = await process.communicate(stdin)
    finally:
        await _kill(process)
    assert process.returncode is not None
    return Finished(process.returncode, stdout.decode(), stderr.decode())


@contextlib.asynccontextmanager
async def running_mesh(
    tools: Sequence[Path | str],
    workers: int = 1,
    agents: Sequence[Path | str] = (),
    data_folder: Path | None = None,
    options: Sequence[str] = (),
    extra_environment: Mapping[str, str] | None = None,
) -> AsyncIterator[RunningMesh]:
    """`toolmesh up` that is ready; Ctrl-C and a bounded wait at the end, then kill.

    Without `data_folder` a temporary one is made and removed.
    """
    with contextlib.ExitStack() as stack:
        if data_folder is None:
            data_folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="toolmesh-mesh-")))
        arguments = ["up", "--data", str(data_folder), "--workers", str(workers)]
        for folder in tools:
            arguments += ["--tools", str(folder)]
        for agent in agents:
            arguments += ["--agents", str(agent)]
        process = await start_toolmesh(*arguments, *options, extra_environment=extra_environment)
        mesh = RunningMesh(data_folder, process)
        progress = asyncio.create_task(_collect_progress(mesh))
        try:
            mesh.ready_line = await _ready_line(mesh)
            yield mesh
            await mesh.interrupt()
        finally:
            await _kill(process)
            await progress


async def _ready_line(mesh: RunningMesh) -> str:
    assert mesh.process.stdout is not None
    try:
        async with asyncio.timeout(READY_DEADLINE_S):
            line = (await mesh.process.stdout.readline()).decode()
    except TimeoutError as error:
        raise AssertionError(f"not ready in time:\n{''.join(mesh.progress)}\n{mesh.logs()}") from error
    if not line.startswith("toolmesh is ready"):
        await _kill(mesh.process)
        raise AssertionError(f"`toolmesh up` did not start:\n{line}{''.join(mesh.progress)}\n{mesh.logs()}")
    return line.strip()


async def _collect_progress(mesh: RunningMesh) -> None:
    assert mesh.process.stderr is not None
    while line := await mesh.process.stderr.readline():
        mesh.progress.append(line.decode(errors="replace"))


async def _kill(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
