"""`toolmesh tasks`: lists, shows and cancels tasks."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec

from toolmesh_cli import exit_codes
from toolmesh_cli.asked_task import OpenQuestion, tasks_of
from toolmesh_cli.call_output import print_json
from toolmesh_cli.columns import table
from toolmesh_cli.mesh_connection import connect_to_mesh
from toolmesh_cli.task_output import TaskPrinter, show_end
from toolmesh_cli.terminal import Colour, Terminal, visible
from toolmesh_contracts.errors import ErrorCode, ToolmeshError
from toolmesh_contracts.ids import uuid7_milliseconds
from toolmesh_executor.loop.task_state import TaskState
from toolmesh_executor.tasks.client import TaskSummary
from toolmesh_executor.tasks.events import ReadEvent
from toolmesh_executor.tasks.waiting import waits

__all__ = ["run_tasks_cancel", "run_tasks_list", "run_tasks_show"]

_HEADER: Final = ("TASK", "BEGUN", "STATE", "AGENT", "USER", "ASKED")


async def run_tasks_list(data_folder: Path | None, most: int, *, as_json: bool) -> int:
    """Print the newest tasks and return the exit code."""
    async with connect_to_mesh(data_folder) as mesh:
        found = await tasks_of(mesh).recent(most)
    stdout = Terminal.stdout()
    if as_json:
        print_json({"tasks": [_document(one) for one in found]}, stdout)
        return exit_codes.OK
    lines = table([_HEADER, *(_row(one) for one in found)], stdout.width) if found else ["no task was begun yet"]
    if found:
        lines[0] = stdout.paint(lines[0], Colour.STRONG)
    for line in lines:
        stdout.line(line)
    return exit_codes.OK


async def run_tasks_show(data_folder: Path | None, task: str, *, as_json: bool) -> int:
    """Print a task's events and where it stands; return the exit code."""
    async with connect_to_mesh(data_folder) as mesh:
        events, state = await tasks_of(mesh).history(task)
    stdout, stderr = Terminal.stdout(), Terminal.stderr()
    if as_json:
        for event in events:
            stdout.line(msgspec.json.encode(_event(event)).decode())
        return exit_codes.OK
    if state.started is not None:
        asked = state.started
        stdout.line(visible(f"{asked.user} asked {asked.agent}: {asked.text}"))
    printer = TaskPrinter(stdout, stdout)
    for event in events:
        printer.show(event.record)
    stdout.line(f"state  {state_word(state)}")
    show_end(state, None, stderr, [OpenQuestion(task, asked) for asked in state.questions.values()])
    return exit_codes.OK


async def run_tasks_cancel(data_folder: Path | None, task: str, reason: str) -> int:
    """Take a task back and return the exit code.

    Raises:
        ToolmeshError: it has ended before, or this is no task's id.
    """
    async with connect_to_mesh(data_folder) as mesh:
        tasks, reason = tasks_of(mesh), reason or "cancelled by `toolmesh tasks cancel`"
        if not await tasks.cancel(task, reason, await mesh.tokens()):
            raise ToolmeshError(
                f"task {task} has ended before",
                code=ErrorCode.INVALID_REQUEST,
                hint="`toolmesh tasks show TASK` tells how",
            )
        begun = (await tasks.state(task)).started is not None
    Terminal.stdout().line(f"cancelled {task}")
    if not begun:
        Terminal.stderr().hint("no executor had begun it; if there is no such task, nothing has changed")
    return exit_codes.OK


def state_word(state: TaskState) -> str:
    """Return where a task stands in a word."""
    if state.ended is not None:
        return str(state.ended.__struct_config__.tag).removeprefix("task.")
    if waits(state):
        return "asks" if state.questions else "waits"
    return "running"


def _row(one: TaskSummary) -> tuple[str, ...]:
    asked = one.state.started
    return (
        one.id,
        _when(one.id),
        _word(one),
        "-" if asked is None else asked.agent,
        "-" if asked is None else visible(asked.user),
        "-" if asked is None else visible(" ".join(asked.text.split())),
    )


def _word(one: TaskSummary) -> str:
    return "unreadable" if one.problem else state_word(one.state)


def _when(task: str) -> str:
    made_ms = uuid7_milliseconds(task)
    return "-" if made_ms is None else datetime.fromtimestamp(made_ms / 1000, UTC).strftime("%m-%d %H:%M:%S")


def _document(one: TaskSummary) -> dict[str, Any]:
    asked = one.state.started
    return {
        "task": one.id,
        "state": _word(one),
        "problem": one.problem,
        "agent": "" if asked is None else asked.agent,
        "user": "" if asked is None else asked.user,
        "text": "" if asked is None else asked.text,
        "begun_ms": uuid7_milliseconds(one.id),
        "turns": len(one.state.turns),
        "questions": list(one.state.questions),
    }


def _event(event: ReadEvent) -> dict[str, Any]:
    record = msgspec.Raw(msgspec.json.encode(event.record))
    return {"number": event.number, "at_ms": event.at_ms, "executor": event.executor, "record": record}
