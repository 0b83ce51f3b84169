"""How a task is shown: its steps as they happen, and its end."""

import json
from typing import Any

from toolmesh_cli.terminal import Colour, Terminal, visible
from toolmesh_contracts.envelopes.reply import Outcome
from toolmesh_executor.loop.records import (
    ModelAnswered,
    Record,
    TaskCompleted,
    TaskFailed,
    TextDelta,
    ToolEnded,
    ToolStatus,
    TurnRestarted,
)
from toolmesh_executor.loop.task_state import TaskState

__all__ = ["TaskPrinter", "show_end", "task_document"]

_LONGEST_SHOWN = 200


class TaskPrinter:
    """Shows a task while it runs.

    Args:
        stdout: Where text goes as it comes; None where only the whole answer is wanted.
        stderr: Where steps go.
    """

    def __init__(self, stdout: Terminal | None, stderr: Terminal) -> None:
        self._stdout = stdout
        self._stderr = stderr
        self._tools: dict[str, str] = {}
        self._in_line = False

    def show(self, record: Record) -> None:
        """Show one step."""
        match record:
            case TextDelta(text=text):
                if self._stdout is not None:
                    self._stdout.piece(visible(text))
                    self._in_line = not text.endswith("\n")
                return
            case TurnRestarted(reason=reason):
                self._step("model", f"starts over: {reason}", Colour.WARNING)
            case ModelAnswered(requests=requests):
                self._end_line()
                for request in requests:
                    self._tools[request.call] = request.name
                    self._step(request.name, _short(request.arguments), Colour.STRONG)
            case ToolStatus(call=call, text=text):
                self._step(self._tools[call], text, Colour.FAINT)
            case ToolEnded(call=call, outcome=outcome, content=content):
                good = outcome in {Outcome.OK, Outcome.PARTIAL}
                shown = outcome.value if good else f"{outcome.value}: {_short(content)}"
                self._step(self._tools[call], shown, Colour.GOOD if good else Colour.BAD)

    def _step(self, name: str, text: str, colour: Colour) -> None:
        self._end_line()
        shown = self._stderr.paint(visible(_short(name)), colour)
        self._stderr.line(f"{shown}  {visible(_one_line(text))}".rstrip())

    def _end_line(self) -> None:
        if self._in_line and self._stdout is not None:
            self._stdout.line("")
        self._in_line = False


def show_end(state: TaskState, stdout: Terminal | None, stderr: Terminal) -> None:
    """Write the answer to stdout, if it was not streamed there, or what went wrong to stderr."""
    match state.ended:
        case TaskCompleted(text=text) if stdout is not None:
            stdout.line(visible(text).removesuffix("\n"))
        case TaskFailed(code=code, message=message, hint=hint):
            stderr.error(code, message, hint)


def task_document(state: TaskState) -> dict[str, Any]:
    """Return the document of `--json`."""
    ended = state.ended
    failed = ended if isinstance(ended, TaskFailed) else None
    return {
        "outcome": Outcome.OK.value if failed is None else Outcome.ERROR.value,
        "message": ended.text if isinstance(ended, TaskCompleted) else "" if failed is None else failed.message,
        "error": None if failed is None else {"code": failed.code, "message": failed.message, "hint": failed.hint},
        "agent": "" if state.started is None else state.started.agent,
        "turns": len(state.turns),
        "tools": [_call(result, state) for result in state.results()],
        "usage": {
            "input_tokens": sum(turn.answer.input_tokens for turn in state.turns),
            "output_tokens": sum(turn.answer.output_tokens for turn in state.turns),
        },
    }


def _call(result: ToolEnded, state: TaskState) -> dict[str, Any]:
    requests = {request.call: request for turn in state.turns for request in turn.answer.requests}
    return {
        "tool": result.tool,
        "arguments": _parsed(requests[result.call].arguments),
        "outcome": result.outcome.value,
        "code": result.code,
        "content": result.content,
        "invocation": result.invocation,
    }


def _parsed(arguments: str) -> object:
    try:
        return json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return arguments


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."


def _one_line(text: str) -> str:
    return " ".join(text.split())
