"""One run of a tool's process: from the arguments file to what it left behind."""

import asyncio
import os
import stat
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolmesh_runtime.process.confinement import Confinement, ToolProgram
from toolmesh_runtime.process.interpretation import interpret
from toolmesh_runtime.process.output_files import INDEX_FILE, SortedOutputs, read_index, sort_outputs
from toolmesh_runtime.process.result_envelope import ToolReturn
from toolmesh_runtime.process.runner_args import CallFolder, RunnerArgs
from toolmesh_runtime.process.status_pipe import status_pipe
from toolmesh_sandbox.errors import OutputRefusedError
from toolmesh_sandbox.outputs import Collected, OutputFile, OutputLimits, collect, read_file
from toolmesh_sandbox.process import SandboxProcess, Usage
from toolmesh_sandbox.workspaces import Workspace

__all__ = ["FinishedRun", "Prepare", "RunLimits", "run_tool"]

Prepare = Callable[[Workspace, CallFolder], Awaitable[RunnerArgs]]
"""Puts the input files into a fresh workspace, and returns what to write into the arguments file."""

_LINGER_S: Final = 1.0
"""A process that goes on this long after its result file was last written is stopped; the result counts."""
_LINGER_POLL_S: Final = 0.2
_STOP_GRACE_S: Final = 0.5
_INDEX_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLimits:
    """Sizes above which what a tool left is refused."""

    result_bytes: int
    outputs: OutputLimits


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """What a run left; the files can be read until the run's context ends."""

    returned: ToolReturn
    outputs: SortedOutputs
    files: dict[str, OutputFile]
    usage: Usage
    stdout: bytes


@asynccontextmanager
async def run_tool(
    confinement: Confinement,
    program: ToolProgram,
    prepare: Prepare,
    *,
    wall_clock_s: float,
    limits: RunLimits,
    on_status: Callable[[str], None],
) -> AsyncIterator[FinishedRun]:
    """Run a tool once, in a workspace of its own that is removed when the context ends.

    Raises:
        SandboxError: the sandbox can't be had at all.
    """
    async with confinement.backend.workspaces.new() as workspace:
        folder = CallFolder(confinement.backend.inside(workspace))
        arguments = await prepare(workspace, folder)
        workspace.write_file(folder.runner_args.name, arguments.to_json())
        workspace.make_fifo(folder.status_pipe.name)
        with status_pipe(workspace.host / folder.status_pipe.name, on_status):
            command = (str(folder.runner_args),)
            async with (
                confinement.start(program, command, workspace, wall_clock_s) as process,
                asyncio.TaskGroup() as group,
            ):
                watch = group.create_task(_stop_lingering(process, workspace.host / folder.result_file.name))
                ended = await process.wait()
                watch.cancel()
        result, unreadable = await asyncio.to_thread(
            _read_result, workspace.host, folder.result_file.name, limits.result_bytes
        )
        returned = await asyncio.to_thread(interpret, ended, result, unreadable, wall_clock_s)
        with await asyncio.to_thread(collect, workspace.host / folder.output.name, limits.outputs) as collected:
            outputs = _sorted(returned, collected)
            files = {file.name: file for file in collected.files}
            yield FinishedRun(returned, outputs, files, ended.usage, ended.stdout)


async def _stop_lingering(process: SandboxProcess, result_file: Path) -> None:
    """Stop a process that stays, with a thread or a child, after its result is written."""
    while True:
        await asyncio.sleep(_LINGER_POLL_S)
        try:
            found = os.lstat(result_file)
        except FileNotFoundError:
            continue
        if stat.S_ISREG(found.st_mode) and found.st_size and time.time() - found.st_mtime > _LINGER_S:
            await process.stop(_STOP_GRACE_S)
            return


def _read_result(folder: Path, name: str, cap: int) -> tuple[bytes | None, str]:
    if not os.path.lexists(folder / name):
        return None, ""
    try:
        return read_file(folder, name, cap), ""
    except OutputRefusedError as error:
        return None, error.message


def _sorted(returned: ToolReturn, collected: Collected) -> SortedOutputs:
    index = next((file for file in collected.files if file.name == INDEX_FILE), None)
    entries = {}
    if index is not None and index.size <= _INDEX_BYTES:
        with index.open() as reader:
            entries = read_index(reader.read(_INDEX_BYTES))
    outputs = sort_outputs(returned.data_objects, [file.name for file in collected.files], entries)
    refused = tuple(f"output file {name!r} was refused: {reason}" for name, reason in collected.refused)
    return SortedOutputs(outputs.files, outputs.inline, (*outputs.notes, *refused))
