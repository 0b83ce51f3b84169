"""`toolmesh call`: one call, its statuses on stderr, its result on stdout."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from toolmesh_cli.artifact_files import free_path
from toolmesh_cli.call_arguments import read_arguments
from toolmesh_cli.call_output import (
    exit_code_of_result,
    failure_document,
    print_json,
    print_result,
    result_document,
)
from toolmesh_cli.failures import describe
from toolmesh_cli.interruptible import interruptible
from toolmesh_cli.mesh_connection import MeshConnection, connect_to_mesh, folder_of
from toolmesh_cli.mesh_state import read_state
from toolmesh_cli.terminal import Colour, Terminal, visible
from toolmesh_client.client import Client
from toolmesh_client.request import CallRequest
from toolmesh_client.result import CallResult
from toolmesh_contracts.envelopes.reply import Status, StatusState

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
    stderr, stdout = Terminal.stderr(), Terminal.stdout()
    async with connect_to_mesh(options.data_folder, user=options.user, scopes=options.scopes) as mesh:
        result = await interruptible(_run(mesh, options, arguments, stderr))
        saved = await _save(mesh.client, result, options.save_artifacts, stderr)
    if options.as_json:
        print_json(result_document(result, saved), stdout)
        if result.error is not None:
            stderr.error(result.error.code, result.error.message, result.error.hint)
    else:
        print_result(result, stdout, stderr)
    return exit_code_of_result(result)


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


async def _save(client: Client, result: CallResult, folder: Path | None, terminal: Terminal) -> Mapping[str, str]:
    if folder is None:
        return {}
    await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
    saved: dict[str, str] = {}
    for artifact in result.artifacts:
        path = free_path(folder, artifact.filename)
        await client.save_artifact(artifact, path)
        saved[artifact.filename] = str(path)
        terminal.line(f"saved {visible(str(path))} ({artifact.size} bytes)")
    return saved
