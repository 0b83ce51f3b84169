"""`toolmesh ask`: one task of an agent; its steps on stderr, its answer on stdout."""

import sys
from dataclasses import dataclass
from pathlib import Path

from toolmesh_cli.asked_task import AskedTask, deadline_ms, tasks_of
from toolmesh_cli.call_output import failures_as_json, print_json
from toolmesh_cli.interruptible import interruptible
from toolmesh_cli.mesh_connection import connect_to_mesh, folder_of
from toolmesh_cli.mesh_outage import outages_told
from toolmesh_cli.task_output import TaskPrinter, exit_code_of_task, show_end, task_document
from toolmesh_cli.terminal import Terminal
from toolmesh_contracts.errors import ErrorCode, ToolmeshError

__all__ = ["AskOptions", "run_ask"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AskOptions:
    """What `toolmesh ask` was asked for."""

    agent: str
    text: str
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
        tasks, printer = tasks_of(mesh), TaskPrinter(stdout if streams else None, stderr)
        due = deadline_ms(options.timeout_s)
        task = await tasks.start(options.agent, text, await mesh.tokens(), deadline_ms=due)
        asked = AskedTask(tasks, task, printer.show)
        state = await interruptible(asked.until_it_needs_someone(), "the task was given up")
    if options.as_json:
        print_json(task_document(task, state, asked.questions()), stdout)
    show_end(state, None if streams or options.as_json else stdout, stderr, asked.questions())
    return exit_code_of_task(state)


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
