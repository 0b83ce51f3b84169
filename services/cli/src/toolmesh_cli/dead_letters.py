"""`toolmesh dead list|show|requeue|drop`: looks after the dead letters of a running mesh."""

import contextlib
from collections.abc import AsyncIterator, Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from toolmesh_broker.dead_letters import DeadLetters, KeptLetter
from toolmesh_broker.errors import BrokerError
from toolmesh_broker.identities import Operator
from toolmesh_broker.jetstream.broker import connect
from toolmesh_cli import exit_codes
from toolmesh_cli.administrative_access import administrative_access
from toolmesh_cli.call_output import failures_as_json, print_json
from toolmesh_cli.dead_letter_output import letter_document, list_lines, summary_document, whole_lines
from toolmesh_cli.followed_call import OnStatus, finish, follow, ready_to_save
from toolmesh_cli.mesh_connection import MeshConnection, connect_to_mesh, folder_of, running_profile
from toolmesh_cli.mesh_state import read_state
from toolmesh_cli.terminal import Terminal
from toolmesh_client.requeue import call_again
from toolmesh_client.result import CallResult
from toolmesh_contracts.errors import ErrorCode

__all__ = ["RequeueOptions", "remove_if_run", "run_dead_drop", "run_dead_list", "run_dead_requeue", "run_dead_show"]

_NOT_RUN: Final = frozenset(
    {
        ErrorCode.BROKER_UNREACHABLE,
        ErrorCode.CANCELLED,
        ErrorCode.DEADLINE_EXCEEDED,
        ErrorCode.TOOL_NOT_AVAILABLE,
    }
)
"""Ends of a call of which no run is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequeueOptions:
    """What `toolmesh dead requeue` was asked for."""

    identity: str
    as_json: bool = False
    timeout_s: float | None = None
    scopes: tuple[str, ...] | None = None
    user: str | None = None
    agent: str | None = None
    agent_files: tuple[Path, ...] = ()
    save_artifacts: Path | None = None
    data_folder: Path | None = None


async def run_dead_list(data_folder: Path | None, *, as_json: bool) -> int:
    """Print a line for each letter; return the exit code.

    Raises:
        ToolmeshError: no mesh runs here.
    """
    async with _letters_of(data_folder) as letters:
        found = [kept async for kept in letters.all()]
    stdout = Terminal.stdout()
    if as_json:
        print_json({"dead_letters": [summary_document(kept) for kept in found]}, stdout)
    else:
        for line in list_lines(found, stdout):
            stdout.line(line)
    return exit_codes.OK


async def run_dead_show(data_folder: Path | None, identity: str, *, as_json: bool) -> int:
    """Print all letters of one id, the oldest first; return the exit code.

    Raises:
        ToolmeshError: no mesh runs here, or there is no such letter.
    """
    async with _letters_of(data_folder) as letters:
        found = await letters.find(identity)
    stdout = Terminal.stdout()
    if as_json:
        print_json({"dead_letters": [letter_document(kept) for kept in found]}, stdout)
    else:
        for line in whole_lines(found, stdout):
            stdout.line(line)
    return exit_codes.OK


async def run_dead_drop(data_folder: Path | None, identities: Sequence[str], *, as_json: bool) -> int:
    """Remove letters; return the exit code. Nothing is removed if one of them is not there.

    Raises:
        ToolmeshError: no mesh runs here, or one of the letters is not there.
    """
    async with _letters_of(data_folder) as letters:
        found = [kept for identity in dict.fromkeys(identities) for kept in await letters.find(identity)]
        dropped = [kept.id for kept in found if await letters.drop(kept)]
    stdout = Terminal.stdout()
    if as_json:
        print_json({"dropped": dropped}, stdout)
    else:
        for identity in dropped:
            stdout.line(f"dropped {identity}")
    return exit_codes.OK


async def run_dead_requeue(options: RequeueOptions) -> int:
    """Call again what a letter was to do, print the result as `toolmesh call` does, and return the exit code.

    Raises:
        ToolmeshError: no mesh runs here, there is no such letter, or it can't be called again.
    """
    with failures_as_json(wanted=options.as_json):
        return await _requeue(options)


async def _requeue(options: RequeueOptions) -> int:
    await ready_to_save(options.save_artifacts)
    folder, stderr = folder_of(options.data_folder), Terminal.stderr()
    async with (
        _letters_of(options.data_folder) as letters,
        connect_to_mesh(folder, user=options.user, scopes=options.scopes) as mesh,
    ):
        found = await letters.find(options.identity)
        kept = found[-1]

        def run(on_status: OnStatus) -> Coroutine[Any, Any, CallResult]:
            return _call(mesh, kept, options, on_status)

        result = await follow(mesh, folder, run, stderr)
        more = {"requeued_from": kept.id, "letter_kept": not await remove_if_run(letters, found, result, stderr)}
        save = mesh.client.save_artifact
        return await finish(result, save, options.save_artifacts, as_json=options.as_json, more=more)


async def _call(mesh: MeshConnection, kept: KeptLetter, options: RequeueOptions, on_status: OnStatus) -> CallResult:
    broker, timeout_s = mesh.client.broker, options.timeout_s
    if options.agent is None:
        return await mesh.client.run(await call_again(broker, kept, timeout_s=timeout_s), on_status)
    from toolmesh_cli.agent_call import agent_caller, known_agent_files

    files = known_agent_files(options.agent_files, folder_of(options.data_folder))
    caller = agent_caller(options.agent, files, mesh)
    return await caller.call_again(await call_again(broker, kept, timeout_s=timeout_s, with_settings=False), on_status)


async def remove_if_run(
    letters: DeadLetters, found: Sequence[KeptLetter], result: CallResult, terminal: Terminal
) -> bool:
    """Remove the letters of a call that has run now; return whether they are gone, and tell why if they are not."""
    if _not_run(result):
        terminal.warning("no run of the call is known of, so its dead letter stays; before you requeue it again, see")
        terminal.warning(f"what the tool did: `toolmesh result {result.invocation}` tells more")
        return False
    try:
        for letter in found:
            await letters.drop(letter)
    except BrokerError as error:
        # The result must not be lost with the connection.
        terminal.warning(f"the call is done, but its dead letter is still there: {error.message}")
        terminal.warning(f"`toolmesh dead drop {found[-1].id}` removes it")
        return False
    return True


def _not_run(result: CallResult) -> bool:
    return result.attempt == 0 and result.error is not None and result.error.code in _NOT_RUN


@contextlib.asynccontextmanager
async def _letters_of(data_folder: Path | None) -> AsyncIterator[DeadLetters]:
    folder = folder_of(data_folder)
    profile = running_profile(folder)
    settings, pools = administrative_access(folder, profile, read_state(folder).pool, Operator())
    async with connect(settings) as broker:
        yield DeadLetters(broker, pools)
