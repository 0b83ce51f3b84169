"""`toolmesh call`: one call, its statuses on stderr, its result on stdout."""

from collections.abc import Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolmesh_cli.call_arguments import read_arguments
from toolmesh_cli.call_output import failures_as_json
from toolmesh_cli.followed_call import OnStatus, finish, follow, ready_to_save
from toolmesh_cli.mesh_connection import MeshConnection, connect_to_mesh, folder_of
from toolmesh_cli.missing_tool import why_not_served
from toolmesh_cli.terminal import Terminal
from toolmesh_cli.tool_artifacts import bind_artifacts
from toolmesh_client.client import Client
from toolmesh_client.errors import ToolNotFoundError
from toolmesh_client.request import CallRequest
from toolmesh_client.resolution import resolve_tool
from toolmesh_client.result import CallResult

__all__ = ["CallOptions", "run_call"]


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
    await ready_to_save(options.save_artifacts)
    folder = folder_of(options.data_folder)

    async with connect_to_mesh(folder, user=options.user, scopes=options.scopes) as mesh:

        def run(on_status: OnStatus) -> Coroutine[Any, Any, CallResult]:
            return _run(mesh, options, arguments, on_status)

        result = await follow(mesh, folder, run, Terminal.stderr())
        return await finish(result, mesh.client.save_artifact, options.save_artifacts, as_json=options.as_json)


async def _run(mesh: MeshConnection, options: CallOptions, arguments: bytes, on_status: OnStatus) -> CallResult:
    if options.agent is None:
        return await mesh.client.run(await _request(mesh.client, options, arguments), on_status)
    from toolmesh_cli.agent_call import agent_caller, known_agent_files

    files = known_agent_files(options.agent_files, folder_of(options.data_folder))
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
