"""`toolmesh dead list|show|requeue|drop`: looks after the dead letters of a running mesh."""

import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolmesh_broker.dead_letters import DeadLetters, KeptLetter
from toolmesh_broker.identities import Operator
from toolmesh_broker.jetstream.broker import connect
from toolmesh_cli import exit_codes
from toolmesh_cli.administrative_access import administrative_access
from toolmesh_cli.call import show_status
from toolmesh_cli.call_output import (
    exit_code_of_result,
    failures_as_json,
    print_json,
    print_result,
    result_document,
)
from toolmesh_cli.dead_letter_output import letter_document, letter_lines, list_lines, summary_document
from toolmesh_cli.interruptible import interruptible
from toolmesh_cli.mesh_connection import connect_to_mesh, folder_of
from toolmesh_cli.mesh_state import read_state
from toolmesh_cli.terminal import Terminal
from toolmesh_client.profile import PROFILE_NAME, read_profile
from toolmesh_client.requeue import call_again
from toolmesh_client.result import CallResult
from toolmesh_contracts.envelopes.reply import Status
from toolmesh_contracts.errors import ErrorCode

__all__ = ["RequeueOptions", "run_dead_drop", "run_dead_list", "run_dead_requeue", "run_dead_show"]

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
    """Print one letter; return the exit code.

    Raises:
        ToolmeshError: no mesh runs here, or there is no such letter.
    """
    async with _letters_of(data_folder) as letters:
        kept, *_ = await letters.find(identity)
    stdout = Terminal.stdout()
    if as_json:
        print_json(letter_document(kept), stdout)
    else:
        for line in letter_lines(kept, stdout):
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
    stdout, stderr = Terminal.stdout(), Terminal.stderr()
    async with _letters_of(options.data_folder) as letters:
        found = await letters.find(options.identity)
        kept = found[0]
        result = await interruptible(_call(kept, options, stderr))
        if kept_back := _not_run(result):
            stderr.warning("no run of the call is known of, so its dead letter stays; before you requeue it again, see")
            stderr.warning(f"what the tool did: `toolmesh result {result.invocation}` tells more")
        else:
            for letter in found:
                await letters.drop(letter)
    if options.as_json:
        print_json(result_document(result, {}) | {"requeued_from": kept.id, "letter_kept": kept_back}, stdout)
        if result.error is not None:
            stderr.error(result.error.code, result.error.message, result.error.hint)
    else:
        print_result(result, stdout, stderr)
    return exit_code_of_result(result)


async def _call(kept: KeptLetter, options: RequeueOptions, terminal: Terminal) -> CallResult:
    def on_status(status: Status) -> None:
        show_status(status, terminal)

    async with connect_to_mesh(options.data_folder, user=options.user, scopes=options.scopes) as mesh:
        request = await call_again(mesh.client.broker, kept, timeout_s=options.timeout_s)
        return await mesh.client.run(request, on_status)


def _not_run(result: CallResult) -> bool:
    return result.attempt == 0 and result.error is not None and result.error.code in _NOT_RUN


@contextlib.asynccontextmanager
async def _letters_of(data_folder: Path | None) -> AsyncIterator[DeadLetters]:
    folder = folder_of(data_folder)
    profile = read_profile(folder / PROFILE_NAME)
    settings, pools = administrative_access(folder, profile, read_state(folder).pool, Operator())
    async with connect(settings) as broker:
        yield DeadLetters(broker, pools)
