"""`toolmesh call`: one call, its statuses on stderr, its result on stdout."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

from toolmesh_cli import exit_codes
from toolmesh_cli.artifact_files import free_path, make_writable_folder
from toolmesh_cli.call_arguments import read_arguments
from toolmesh_cli.call_output import exit_code_of_result, failures_as_json, show_result
from toolmesh_cli.failures import Failure, describe
from toolmesh_cli.interruptible import interruptible
from toolmesh_cli.mesh_connection import MeshConnection, connect_to_mesh, folder_of
from toolmesh_cli.mesh_outage import outages_told
from toolmesh_cli.mesh_state import read_state
from toolmesh_cli.missing_tool import why_not_served
from toolmesh_cli.terminal import Colour, Terminal, visible
from toolmesh_cli.tool_artifacts import bind_artifacts
from toolmesh_client.client import Client
from toolmesh_client.errors import ToolNotFoundError
from toolmesh_client.request import CallRequest
from toolmesh_client.resolution import resolve_tool
from toolmesh_client.result import CallResult
from toolmesh_contracts.envelopes.reply import Status, StatusState
from toolmesh_contracts.errors import ErrorCode, ToolmeshError

__all__ = ["CallOptions", "finish", "run_call", "show_status"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOptions:
    """What `toolmesh call` was asked for."""

    tool: str
    arguments: str | None = None
    arguments_file: str | None = None
    artifacts: tuple[str, ...] = ()
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
    with failures_as_json(wanted=options.as_json):
        return await _call(options)


async def _call(options: CallOptions) -> int:
    arguments = read_arguments(options.arguments, options.arguments_file)
    if options.save_artifacts is not None:
        await asyncio.to_thread(make_writable_folder, options.save_artifacts)
    stderr = Terminal.stderr()
    async with connect_to_mesh(options.data_folder, user=options.user, scopes=options.scopes) as mesh:
        async with outages_told(mesh, folder_of(options.data_folder), stderr):
            result = await interruptible(_run(mesh, options, arguments, stderr))
        return await finish(mesh.client, result, options.save_artifacts, as_json=options.as_json)


async def finish(client: Client, result: CallResult, folder: Path | None, *, as_json: bool) -> int:
    """Save the result's files in `folder`, if one is given, print the result, and return the exit code."""
    stderr = Terminal.stderr()
    saved: dict[str, str] = {}
    not_saved = await _save(client, result, folder, saved, stderr)
    show_result(result, saved, Terminal.stdout(), stderr, as_json=as_json)
    if not_saved is not None:
        stderr.error(not_saved.code, not_saved.message, not_saved.hint)
    return exit_code_of_result(result) or (exit_codes.OK if not_saved is None else exit_codes.FAILED)


async def _run(mesh: MeshConnection, options: CallOptions, arguments: bytes, terminal: Terminal) -> CallResult:
    def on_status(status: Status) -> None:
        show_status(status, terminal)

    if options.agent is None:
        return await mesh.client.run(await _request(mesh.client, options, arguments), on_status)
    from toolmesh_cli.agent_call import agent_caller

    files = options.agent_files or tuple(Path(file) for file in read_state(folder_of(options.data_folder)).agents)
    caller = agent_caller(options.agent, files, mesh)
    return await caller.call(options.tool, arguments, options.timeout_s, on_status, options.artifacts)


async def _request(client: Client, options: CallOptions, arguments: bytes) -> CallRequest:
    try:
        entry = resolve_tool(client.tools(), options.tool, options.pool)
    except ToolNotFoundError as error:
        raise await why_not_served(client, options.tool, error) from error
    complete, files = bind_artifacts(options.artifacts, entry.artifact_parameters, arguments)
    return CallRequest(
        tool=options.tool, arguments=complete, artifacts=files, pool=options.pool, timeout_s=options.timeout_s
    )


def show_status(status: Status, terminal: Terminal) -> None:
    """Write one status as a line."""
    started = status.state is StatusState.STARTED and not status.text
    text = "started" if started else visible(status.text).replace("\n", " ")
    done = "" if status.progress is None else f"{status.progress:.0%}"
    # The SDK's text is the percentage itself where a tool gives no other.
    shown = " ".join(part for part in (done, text if text != done else "") if part)
    terminal.line(f"{terminal.paint(status.worker, Colour.FAINT)}  {shown}".rstrip())


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
