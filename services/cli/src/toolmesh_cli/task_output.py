"""How a task is shown: its steps as they happen, and its end."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from toolmesh_cli import exit_codes
from toolmesh_cli.asked_task import OpenQuestion
from toolmesh_cli.terminal import Colour, Terminal, visible
from toolmesh_contracts.envelopes.reply import Outcome
from toolmesh_contracts.errors import ErrorCode
from toolmesh_executor.loop.records import (
    AnswerRefused,
    ConversationCompacted,
    ModelAnswered,
    QuestionAnswered,
    QuestionAsked,
    QuestionKind,
    Record,
    TaskCancelled,
    TaskCompleted,
    TaskFailed,
    TextDelta,
    ToolEnded,
    ToolStatus,
    TurnRestarted,
    TurnStatus,
)
from toolmesh_executor.loop.task_state import TaskState

__all__ = ["TaskPrinter", "exit_code_of_task", "show_end", "task_document"]

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
        self._tools: dict[tuple[tuple[str, ...], str], str] = {}
        self._agents: tuple[str, ...] = ()
        self._in_line = False

    def show(self, record: Record, agents: tuple[str, ...] = ()) -> None:
        """Show one step; `agents` are those between the asked one and the one that did it, itself the last."""
        self._agents = agents
        match record:
            case TextDelta() if agents:
                return  # what agents say to one another is their calls' result
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
                    self._tools[agents, request.call] = request.name
                    self._step(request.name, _short(request.arguments), Colour.STRONG)
            case TurnStatus(text=text):
                self._step("model", text, Colour.FAINT)
            case ToolStatus(call=call, text=text):
                self._step(self._tools[agents, call], text, Colour.FAINT)
            case AnswerRefused(problem=problem):
                self._step("model", f"answers once more: {problem}", Colour.WARNING)
            case QuestionAsked() | QuestionAnswered():
                self._question(record, self._tools[agents, record.call])
            case ToolEnded(call=call, outcome=outcome, content=content):
                good = outcome in {Outcome.OK, Outcome.PARTIAL}
                shown = outcome.value if good else f"{outcome.value}: {_short(content)}"
                self._step(self._tools[agents, call], shown, Colour.GOOD if good else Colour.BAD)

    def _question(self, record: QuestionAsked | QuestionAnswered, tool: str) -> None:
        if isinstance(record, QuestionAsked):
            arguments = f" {_short(record.arguments)}" if record.arguments else ""
            self._step(tool, f"asks: {_one_line(record.text)}{arguments}", Colour.WARNING)
            return
        agreed = "" if record.asks_for is QuestionKind.INPUT else ": yes" if record.approved else ": no"
        told = f"answered by {record.by}{agreed}" if record.by else "nobody answered"
        self._step(tool, told, Colour.FAINT)

    def _step(self, name: str, text: str, colour: Colour) -> None:
        self._end_line()
        place = "".join(f"{agent} > " for agent in self._agents)
        shown = self._stderr.paint(visible(place + _short(name)), colour)
        self._stderr.line(f"{shown}  {visible(_one_line(text))}".rstrip())

    def _end_line(self) -> None:
        if self._in_line and self._stdout is not None:
            self._stdout.line("")
        self._in_line = False


def show_end(
    state: TaskState, stdout: Terminal | None, stderr: Terminal, questions: Sequence[OpenQuestion] = ()
) -> None:
    """Write the answer to stdout, if it was not streamed there, or what is missing to stderr.

    Args:
        state: Where the task stands.
        stdout: Where the answer goes; None if it was shown before.
        stderr: Where the rest goes.
        questions: What it waits for.
    """
    match state.ended:
        case TaskCompleted(text=text) if stdout is not None:
            stdout.line(visible(text).removesuffix("\n"))
        case TaskFailed(code=code, message=message, hint=hint):
            stderr.error(code, message, hint)
        case TaskCancelled(reason=reason):
            stderr.error(
                ErrorCode.CANCELLED, f"the task was cancelled: {reason}" if reason else "the task was cancelled"
            )
        case None:
            for question in questions:
                stderr.hint(f"the task waits for you: {_how_to_answer(question)}")


def exit_code_of_task(state: TaskState) -> int:
    """Return what a script learns of a task."""
    match state.ended:
        case TaskFailed(code=code):
            return exit_codes.exit_code_of(code)
        case TaskCancelled():
            return exit_codes.CANCELLED
        case None:
            return exit_codes.WAITING
    return exit_codes.OK


def task_document(task: str, state: TaskState, questions: Sequence[OpenQuestion]) -> dict[str, Any]:
    """Return the document of `--json`."""
    ended = state.ended
    answers: tuple[ModelAnswered | ConversationCompacted, ...] = (
        *(turn.answer for turn in state.turns),
        *state.compactions,
    )
    failed = ended if isinstance(ended, TaskFailed) else None
    return {
        "task": task,
        "outcome": _outcome(state),
        "message": ended.text if isinstance(ended, TaskCompleted) else "" if failed is None else failed.message,
        "error": None if failed is None else {"code": failed.code, "message": failed.message, "hint": failed.hint},
        "data": _data(ended),
        "agent": "" if state.started is None else state.started.agent,
        "turns": len(state.turns),
        "tools": [_call(result, state) for result in state.results()],
        "questions": [_question(one) for one in questions],
        "usage": {
            "input_tokens": sum(one.input_tokens for one in answers),
            "output_tokens": sum(one.output_tokens for one in answers),
            "cost_dollars": _cost(answers),
        },
    }


def _cost(answers: Iterable[ModelAnswered | ConversationCompacted]) -> float | None:
    """Return what the model's answers cost together; None where the price of one is not known."""
    costs = [one.cost_microdollars for one in answers]
    return None if None in costs else sum(cost for cost in costs if cost is not None) / 1_000_000


def _data(ended: object) -> Any:
    if not isinstance(ended, TaskCompleted) or isinstance(ended.data, msgspec.UnsetType):
        return None
    return json.loads(bytes(ended.data))


def _outcome(state: TaskState) -> str:
    match state.ended:
        case TaskCompleted():
            return Outcome.OK.value
        case None:
            return Outcome.PENDING.value
        case TaskCancelled():
            return "cancelled"
    return Outcome.ERROR.value


def _question(question: OpenQuestion) -> dict[str, Any]:
    asked = question.asked
    return {
        "task": question.task,
        "call": asked.call,
        "tool": asked.tool,
        "asks_for": asked.asks_for.value,
        "text": asked.text,
        "arguments": _parsed(asked.arguments) if asked.arguments else None,
        "expires_ms": asked.expires_ms,
    }


def _how_to_answer(question: OpenQuestion) -> str:
    asked, command = question.asked, f"toolmesh answer {question.task} --call {question.asked.call}"
    return f"`{command} --yes` or `--no`" if asked.asks_for is QuestionKind.APPROVAL else f"`{command} TEXT`"


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
