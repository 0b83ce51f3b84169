"""One run of a tool's process: from the arguments file to what it left behind."""

import asyncio
import os
import stat
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from msgspec import structs

from toolmesh_runtime.process.confinement import SDK_INSIDE, TOOLSET_INSIDE, Confinement, ToolProgram
from toolmesh_runtime.process.cut_files import whole_files
from toolmesh_runtime.process.interpretation import interpret
from toolmesh_runtime.process.model_lines import AskModel
from toolmesh_runtime.process.model_socket import model_descriptor, model_socket
from toolmesh_runtime.process.output_files import (
    AUTO_INLINE_BYTES,
    INDEX_FILE,
    SortedOutputs,
    read_index,
    sort_outputs,
)
from toolmesh_runtime.process.path_hiding import PathHider
from toolmesh_runtime.process.result_envelope import ToolReturn
from toolmesh_runtime.process.runner_args import CallFolder, RunnerArgs
from toolmesh_runtime.process.secret_hiding import redacted, redacted_index, without, without_in_names
from toolmesh_runtime.process.status_pipe import OnStatus, status_pipe
from toolmesh_sandbox.errors import OutputRefusedError
from toolmesh_sandbox.launch import CONNECTION
from toolmesh_sandbox.outputs import Collected, OutputFile, OutputLimits, collect, read_file
from toolmesh_sandbox.policy import Policy
from toolmesh_sandbox.process import Exit, SandboxProcess, Usage
from toolmesh_sandbox.workspaces import Workspace

__all__ = ["STOP_GRACE_S", "FinishedRun", "OnStarted", "Prepare", "RunLimits", "run_tool"]

OnStarted = Callable[[], Awaitable[None]]
"""Awaited once the tool's process has started; it runs on meanwhile."""

Prepare = Callable[[Workspace, CallFolder], Awaitable[RunnerArgs]]
"""Puts the input files into a fresh workspace, and returns what to write into the arguments file."""

STOP_GRACE_S: Final = 1.5
"""So long a tool that is to end has between SIGTERM and SIGKILL."""
_LINGER_S: Final = 1.0
"""A process that goes on this long after its result file was last written is stopped; the result counts."""
_LINGER_POLL_S: Final = 0.2
_LINGER_GRACE_S: Final = 0.5
_KILL_MARGIN_S: Final = 1.0
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
    on_status: OnStatus,
    on_started: OnStarted,
    ask_model: AskModel | None = None,
    secrets: tuple[str, ...] = (),
) -> AsyncIterator[FinishedRun]:
    """Run a tool once, in a workspace of its own that is removed when the context ends.

    A tool that runs into `wall_clock_s`, or whose run is cancelled, gets SIGTERM and STOP_GRACE_S to put things away
    before it is killed.

    Args:
        confinement: The sandbox.
        program: What to run.
        prepare: Puts the input files into the workspace, and returns what to write into the arguments file.
        wall_clock_s: Seconds after which it is stopped.
        limits: Sizes of what it may leave.
        on_status: Takes its statuses, without the machine's paths.
        on_started: Awaited once its process has started.
        ask_model: Answers its questions to the model; None if it may not ask.
        secrets: Texts that it was given and that nothing it says may repeat, names of files included, but no content.

    Raises:
        SandboxError: the sandbox can't be had at all.
    """
    async with confinement.backend.workspaces.new() as workspace:
        folder = CallFolder(confinement.backend.inside(workspace))
        hider = _path_hider(confinement, program, workspace, folder)
        arguments = await prepare(workspace, folder)
        if ask_model is not None:
            address = f"fd:{CONNECTION}" if program.takes_descriptor else folder.model_address
            arguments = replace(arguments, model_address=address)
        workspace.write_file(folder.runner_args.name, arguments.to_json())
        workspace.make_fifo(folder.status_pipe.name)
        async with AsyncExitStack() as stack:
            statuses = status_pipe(
                workspace.host / folder.status_pipe.name,
                lambda text, progress: on_status(hider.text(text), progress),
            )
            stack.enter_context(statuses)
            descriptor, policy = await _serve_model(stack, program, workspace, folder, ask_model)
            program = replace(program, policy=policy)
            killed_after_s = wall_clock_s + STOP_GRACE_S + _KILL_MARGIN_S
            started = confinement.start(program, (str(folder.runner_args),), workspace, killed_after_s, descriptor)
            process = await stack.enter_async_context(started)
            await on_started()
            ended = await _ended(process, workspace.host / folder.result_file.name, wall_clock_s)
        result = await asyncio.to_thread(_read_result, workspace.host, folder.result_file.name, limits.result_bytes)
        returned = await asyncio.to_thread(interpret, ended, result, wall_clock_s)
        returned = await asyncio.to_thread(redacted, returned, secrets)
        with await asyncio.to_thread(collect, workspace.host / folder.output.name, limits.outputs) as collected:
            files, notes = _whole(returned, ended, collected, program.policy.limits.file_bytes, secrets)
            outputs = _sorted(returned, files, notes, secrets)
            yield FinishedRun(_without_paths(returned, hider), outputs, files, ended.usage, ended.stdout)


async def _serve_model(
    stack: AsyncExitStack, program: ToolProgram, workspace: Workspace, folder: CallFolder, ask: AskModel | None
) -> tuple[int | None, Policy]:
    """Answer the tool's questions until the stack ends; returns the descriptor to hand over, and the policy for it."""
    if ask is None:
        return None, program.policy
    if program.takes_descriptor:
        return await stack.enter_async_context(model_descriptor(ask)), program.policy
    await stack.enter_async_context(model_socket(workspace, folder.model_socket.name, ask))
    return None, replace(program.policy, unix_sockets=True)


async def _ended(process: SandboxProcess, result_file: Path, wall_clock_s: float) -> Exit:
    lingered = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        watch = group.create_task(_stop_lingering(process, result_file, lingered))
        try:
            async with asyncio.timeout(wall_clock_s):
                ended = await process.wait()
        except TimeoutError:
            ended = replace(await process.stop(STOP_GRACE_S), timed_out=True)
        except asyncio.CancelledError:
            await process.stop(STOP_GRACE_S)
            raise
        finally:
            watch.cancel()
    if lingered.is_set() and not ended.timed_out:
        # It was we who ended it, after its result: as if it had ended by itself.
        ended = replace(ended, code=0, signal=None, killed=False, setup_failed=None)
    return ended


def _path_hider(confinement: Confinement, program: ToolProgram, workspace: Workspace, folder: CallFolder) -> PathHider:
    own = [(workspace.host, ""), (program.folder, ""), (confinement.sdk, "sdk")]
    return PathHider([*own, (folder.root, ""), (TOOLSET_INSIDE, ""), (SDK_INSIDE, "sdk")])


def _without_paths(returned: ToolReturn, hider: PathHider) -> ToolReturn:
    if returned.error is None:
        return returned
    message = hider.text(returned.error.message)
    told = message if returned.message == returned.error.message else hider.text(returned.message)
    return replace(returned, message=told, error=structs.replace(returned.error, message=message))


async def _stop_lingering(process: SandboxProcess, result_file: Path, lingered: asyncio.Event) -> None:
    """Stop a process that stays, with a thread or a child, after its result is written, and say so."""
    while True:
        await asyncio.sleep(_LINGER_POLL_S)
        try:
            found = os.lstat(result_file)
        except FileNotFoundError:
            continue
        if stat.S_ISREG(found.st_mode) and found.st_size and time.time() - found.st_mtime > _LINGER_S:
            lingered.set()
            await process.stop(_LINGER_GRACE_S)
            return


def _read_result(folder: Path, name: str, cap: int) -> bytes | OutputRefusedError | None:
    if not os.path.lexists(folder / name):
        return None
    try:
        return read_file(folder, name, cap)
    except OutputRefusedError as error:
        return error


def _whole(
    returned: ToolReturn, ended: Exit, collected: Collected, largest_bytes: int, secrets: tuple[str, ...]
) -> tuple[dict[str, OutputFile], list[str]]:
    """Return the files to keep, by names without secrets, and notes on the others."""
    failed = returned.error is not None
    whole, notes = whole_files(collected.files, ended, failed=failed, largest_bytes=largest_bytes)
    notes += [f"output file {name!r} was refused: {reason}" for name, reason in collected.refused]
    return without_in_names({file.name: file for file in whole}, notes, secrets)


def _sorted(
    returned: ToolReturn, files: Mapping[str, OutputFile], notes: Sequence[str], secrets: tuple[str, ...]
) -> SortedOutputs:
    index = files.get(INDEX_FILE)
    entries = {}
    if index is not None and index.size <= _INDEX_BYTES:
        with index.open() as reader:
            entries = redacted_index(read_index(reader.read(_INDEX_BYTES)), secrets)
    outputs = sort_outputs(returned.data_objects, [*files], entries, lambda name: _short_text(files[name], secrets))
    return SortedOutputs(outputs.files, outputs.inline, (*outputs.notes, *notes))


def _short_text(file: OutputFile, secrets: tuple[str, ...]) -> bytes | None:
    if file.size > AUTO_INLINE_BYTES:
        return None
    with file.open() as reader:
        content = without(reader.read(AUTO_INLINE_BYTES), secrets)
    try:
        return None if b"\0" in content else content.decode().encode()
    except UnicodeDecodeError:
        return None
