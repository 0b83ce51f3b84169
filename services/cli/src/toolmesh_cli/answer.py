"""`toolmesh answer`: what a person says to a task that waits for one."""

from dataclasses import dataclass
from pathlib import Path

from toolmesh_cli import exit_codes
from toolmesh_cli.asked_task import tasks_of
from toolmesh_cli.mesh_connection import connect_to_mesh
from toolmesh_cli.terminal import Terminal, visible
from toolmesh_contracts.envelopes.task import Answer
from toolmesh_contracts.errors import ErrorCode, ToolmeshError
from toolmesh_executor.loop.records import QuestionAsked, QuestionKind
from toolmesh_executor.loop.task_state import TaskState

__all__ = ["AnswerOptions", "run_answer"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerOptions:
    """What `toolmesh answer` was asked for."""

    task: str
    text: str = ""
    call: str = ""
    approved: bool | None = None
    scopes: tuple[str, ...] | None = None
    user: str | None = None
    data_folder: Path | None = None


async def run_answer(options: AnswerOptions) -> int:
    """Answer, and return the exit code.

    Raises:
        ToolmeshError: nothing is asked, or it is asked otherwise.
    """
    async with connect_to_mesh(options.data_folder, user=options.user, scopes=options.scopes) as mesh:
        tasks = tasks_of(mesh)
        asked = _question(await tasks.state(options.task), options)
        answer = Answer(call=asked.call, approved=options.approved is True, text=options.text)
        await tasks.answer(options.task, answer, await mesh.tokens())
    Terminal.stdout().line(visible(f"answered {asked.tool} (call {asked.call})"))
    return exit_codes.OK


def _question(state: TaskState, options: AnswerOptions) -> QuestionAsked:
    questions = [one for one in state.questions.values() if options.call in ("", one.call)]
    if len(questions) != 1:
        calls = ", ".join(f"{one.call} ({one.tool})" for one in state.questions.values())
        raise _refused(
            f"task {options.task} asks nothing" if not calls else f"say which call you answer: {calls}",
            "`toolmesh tasks show TASK` tells where it stands" if not calls else "give --call",
        )
    asked = questions[0]
    if asked.asks_for is QuestionKind.APPROVAL and options.approved is None:
        raise _refused(f"{asked.tool} asks for your approval: {visible(asked.text)}", "give --yes or --no")
    if asked.asks_for is QuestionKind.INPUT and not options.text.strip():
        raise _refused(f"{asked.tool} asks: {visible(asked.text)}", "give your answer as TEXT")
    return asked


def _refused(message: str, hint: str) -> ToolmeshError:
    return ToolmeshError(message, code=ErrorCode.INVALID_REQUEST, hint=hint)
