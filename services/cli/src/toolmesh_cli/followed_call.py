"""A call while it runs and when it has ended, as every command that calls tools shows it."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any

from toolmesh_cli import exit_codes
from toolmesh_cli.artifact_files import free_path, make_writable_folder
from toolmesh_cli.call_output import exit_code_of_result, show_result
from toolmesh_cli.failures import Failure, describe
from toolmesh_cli.interruptible import interruptible
from toolmesh_cli.mesh_connection import MeshConnection
from toolmesh_cli.mesh_outage import outages_told
from toolmesh_cli.terminal import Colour, Terminal, visible
from toolmesh_client.result import CallResult
from toolmesh_contracts.envelopes.reply import Status, StatusState
from toolmesh_contracts.envelopes.values import ArtifactRef
from toolmesh_contracts.errors import ErrorCode, ToolmeshError

__all__ = ["OnStatus", "SaveFile", "finish", "follow", "ready_to_save", "show_status"]

OnStatus = Callable[[Status], None]
SaveFile = Callable[[ArtifactRef, Path], Awaitable[None]]
"""Writes one file of a result to a path where there is none."""


async def ready_to_save(folder: Path | None) -> None:
    """Make sure before the call that its files can be saved in `folder`, if one is given.

    Raises:
        ToolmeshError: it can't be made or written.
    """
    if folder is not None:
        await asyncio.to_thread(make_writable_folder, folder)


async def follow(
    mesh: MeshConnection, folder: Path, call: Callable[[OnStatus], Coroutine[Any, Any, CallResult]], terminal: Terminal
) -> CallResult:
    """Make a call and return its result: statuses and lost connections are told on the way, Ctrl-C withdraws it.

    Args:
        mesh: What the call goes through.
        folder: The mesh's data folder.
        call: Makes the call, and passes its statuses on.
        terminal: Where to tell.

    Raises:
        ToolmeshError: the call was not accepted, or was withdrawn.
    """
    async with outages_told(mesh, folder, terminal):
        return await interruptible(call(lambda status: show_status(status, terminal)))


async def finish(
    result: CallResult,
    save: SaveFile,
    folder: Path | None,
    *,
    as_json: bool,
    more: Mapping[str, object] | None = None,
) -> int:
    """Save the result's files in `folder`, if one is given, print the result, and return the exit code.

    Args:
        result: How the call ended.
        save: Saves one file.
        folder: Where to; one that is ready.
        as_json: Print one JSON document.
        more: What else comes into it.
    """
    stderr = Terminal.stderr()
    saved: dict[str, str] = {}
    not_saved = await _save_all(result, save, folder, saved, stderr)
    show_result(result, saved, Terminal.stdout(), stderr, as_json=as_json, more=more or {})
    if not_saved is not None:
        stderr.error(not_saved.code, not_saved.message, not_saved.hint)
    return exit_code_of_result(result) or (exit_codes.OK if not_saved is None else exit_codes.FAILED)


def show_status(status: Status, terminal: Terminal) -> None:
    """Write one status as a line."""
    started = status.state is StatusState.STARTED and not status.text
    text = "started" if started else visible(status.text).replace("\n", " ")
    done = "" if status.progress is None else f"{status.progress:.0%}"
    # The SDK's text is the percentage itself where a tool gives no other.
    shown = " ".join(part for part in (done, text if text != done else "") if part)
    terminal.line(f"{terminal.paint(status.worker, Colour.FAINT)}  {shown}".rstrip())


async def _save_all(
    result: CallResult, save: SaveFile, folder: Path | None, saved: dict[str, str], terminal: Terminal
) -> Failure | None:
    """Save the result's files and note in `saved` where; return what stopped it: the call itself is done."""
    if folder is None:
        return None
    try:
        for artifact in result.artifacts:
            path = free_path(folder, artifact.filename)
            await save(artifact, path)
            saved[artifact.filename] = str(path)
            terminal.line(f"saved {visible(str(path))} ({artifact.size} bytes)")
    except OSError as error:
        message = f"{artifact.filename} can't be saved in {folder}: {error.strerror or error}"
        return Failure(ErrorCode.ARTIFACT_ERROR, message, "the call itself is done", exit_codes.FAILED)
    except ToolmeshError as error:
        return describe(error)
    return None
