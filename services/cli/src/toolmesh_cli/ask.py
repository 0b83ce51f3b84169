"""`toolmesh ask`: one task of an agent; its steps on stderr, its answer on stdout."""

import sys
from dataclasses import dataclass
from pathlib import Path

from toolmesh_cli import exit_codes
from toolmesh_cli.asked_agent import asked_agent
from toolmesh_cli.call_output import failures_as_json, print_json
from toolmesh_cli.interruptible import interruptible
from toolmesh_cli.mesh_connection import MeshConnection, connect_to_mesh, folder_of
from toolmesh_cli.mesh_outage import outages_told
from toolmesh_cli.task_output import TaskPrinter, show_end, task_document
from toolmesh_cli.terminal import Terminal
from toolmesh_contracts.errors import ErrorCode, ToolmeshError
from toolmesh_executor.loop.records import TaskFailed
from toolmesh_executor.loop.task_state import TaskState

__all__ = ["AskOptions", "run_ask"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AskOptions:
    """What `toolmesh ask` was asked for."""

    agent: str
    text: str
    agent_files: tuple[Path, ...] = ()
    as_json: bool = False
    timeout_s: float | None = None
    scopes: tuple[str, ...] | None = None
    user: str | None = None
    data_folder: Path | None = None


async def run_ask(options: AskOptions) -> int:
    """Ask the agent and return the exit code.

    With `--json` even a task that was never accepted gives one JSON document on stdout.
    """
    with failures_as_json(wanted=options.as_json):
        return await _ask(options)


async def _ask(options: AskOptions) -> int:
    text = _text(options.text)
    folder = folder_of(options.data_folder)
    stdout, stderr = Terminal.stdout(), Terminal.stderr()
    streams = sys.stdout.isatty() and not options.as_json
    async with (
        connect_to_mesh(folder, user=options.user, scopes=options.scopes) as mesh,
        outages_told(mesh, folder, stderr),
    ):
        printer = TaskPrinter(stdout if streams else None, stderr)
        state = await interruptible(_run(mesh, options, text, printer), "the task was given up")
    if options.as_json:
        print_json(task_document(state), stdout)
    show_end(state, None if streams or options.as_json else stdout, stderr)
    return exit_codes.exit_code_of(state.ended.code) if isinstance(state.ended, TaskFailed) else exit_codes.OK


def _text(given: str) -> str:
    """Return what to ask; bytes that are no UTF-8 arrive as lone surrogates, which no model can be sent.

    Raises:
        ToolmeshError: it is no text, or empty.
    """
    raw = sys.stdin.buffer.read() if given == "-" else given.encode(errors="surrogateescape")
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise ToolmeshError(
            f"the text is not UTF-8 at byte {error.start}", code=ErrorCode.INVALID_REQUEST, hint="give text"
        ) from error
    if not text.strip():
        raise ToolmeshError(
            "the text is empty", code=ErrorCode.INVALID_REQUEST, hint="say what to ask, or - to read it from stdin"
        )
    return text


async def _run(mesh: MeshConnection, options: AskOptions, text: str, printer: TaskPrinter) -> TaskState:
    folder = folder_of(options.data_folder)
    async with asked_agent(options.agent, options.agent_files, folder, mesh) as tasks:
        return await tasks.run(text, await mesh.tokens(), printer.show, options.timeout_s)
