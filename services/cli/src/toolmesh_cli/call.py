"""`toolmesh call`: one call, its statuses on stderr, its result on stdout."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

from toolmesh_cli import exit_codes
from toolmesh_cli.artifact_files import free_path, make_writable_folder
from toolmesh_cli.call_arguments import read_arguments
from toolmesh_cli.call_output import (
    exit_code_of_result,
    failure_document,
    print_json,
    print_result,
    result_document,
)
from toolmesh_cli.failures import Failure, describe
from toolmesh_cli.interruptible import interruptible
from toolmesh_cli.mesh_connection import MeshConnection, connect_to_mesh, folder_of
from toolmesh_cli.mesh_state import read_state
from toolmesh_cli.terminal import Colour, Terminal, visible
from toolmesh_client.client import Client
from toolmesh_client.request import CallRequest
from toolmesh_client.result import CallResult
from toolmesh_contracts.envelopes.reply import Status, StatusState
from toolmesh_contracts.errors import ErrorCode, ToolmeshError

__all__ = ["CallOptions", "run_call", "show_status"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOptions:
    """What `toolmesh call` was asked for."""

    tool: str
    arguments: str | None = None
    arguments_file: str | None = None
    agent: str | None = None
    agent_files: tuple[Path, ...] = ()
    as_json: bool = False
    timeout_s: float | None = None
    pool: str | None = None
    scopes: tuple[str, ...] | None = None
    user: str | None = None
    save_artifacts: Path | None = None
    data_folder: Path | None = None


async def run_call(options: CallOptions) -> int:
    """Make the call and return the exit code.

    With `--json` even a call that was never accepted gives one JSON document on stdout.
    """
    try:
        return await _call(options)
    except Exception as error:
        failure = describe(error)
        if failure is not None and options.as_json:
            print_json(failure_document(failure), Terminal.stdout())
        raise


async def _call(options: CallOptions) -> int:
    arguments = read_arguments(options.arguments, options.arguments_file)
    if options.save_artifacts is not None:
        await asyncio.to_thread(make_writable_folder, options.save_artifacts)
    stderr, stdout = Terminal.stderr(), Terminal.stdout()
    saved: dict[str, str] = {}
    async with connect_to_mesh(options.data_folder, user=options.user, scopes=options.scopes) as mesh:
        result = await interruptible(_run(mesh, options, arguments, stderr))
        not_saved = await _save(mesh.client, result, options.save_artifacts, saved, stderr)
    if options.as_json:
        print_json(result_document(result, saved), stdout)
        if result.error is not None:
            stderr.error(result.error.code, result.error.message, result.error.hint)
    else:
        print_result(result, stdout, stderr)
    if not_saved is not None:
        stderr.error(not_saved.code, not_saved.message, not_saved.hint)
    return exit_code_of_result(result) or (exit_codes.OK if not_saved is None else exit_codes.FAILED)


async def _run(mesh: MeshConnection, options: CallOptions, arguments: bytes, terminal: Terminal) -> CallResult:
    def on_status(status: Status) -> None:
        show_status(status, terminal)

    if options.agent is None:
        request = CallRequest(tool=options.tool, arguments=arguments, pool=options.pool, timeout_s=options.timeout_s)
        return await mesh.client.run(request, on_status)
    from toolmesh_cli.agent_call import agent_caller

    files = options.agent_files or tuple(Path(file) for file in read_state(folder_of(options.data_folder)).agents)
    return await agent_caller(options.agent, files, mesh).call(options.tool, arguments, options.timeout_s, on_status)


def show_status(status: Status, terminal: Terminal) -> None:
    """Write one status as a line."""
    started = status.state is StatusState.STARTED and not status.text
    text = "started" if started else visible(status.text).replace("\n", " ")
    terminal.line(f"{terminal.paint(status.worker, Colour.FAINT)}  {text}")


async def _save(
    client: Client, result: CallResult, folder: Path | None, saved: dict[str, str], terminal: Terminal
) -> Failure | None:
    """Save the result's files and note in `saved` where; return what stopped it: the call itself is done."""
    if folder is None:
        return None
    try:
        for artifact in result.artifacts:
            path = free_path(folder, artifact.filename)
            await client.save_artifact(artifact, path)
            saved[artifact.filename] = str(path)
            terminal.line(f"saved {visible(str(path))} ({artifact.size} bytes)")
    except OSError as error:
        message = f"{artifact.filename} can't be saved in {folder}: {error.strerror or error}"
        return Failure(ErrorCode.ARTIFACT_ERROR, message, "the call itself is done", exit_codes.FAILED)
    except ToolmeshError as error:
        return describe(error)
    return None
