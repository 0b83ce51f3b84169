"""`toolmesh chat`: a conversation with an agent, line by line."""

import asyncio
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolmesh_cli import exit_codes
from toolmesh_cli.agent_call import agent_caller, known_agent_files
from toolmesh_cli.asked_task import AskedTask, tasks_of
from toolmesh_cli.failures import CommandFailedError
from toolmesh_cli.mesh_connection import MeshConnection, connect_to_mesh, folder_of
from toolmesh_cli.mesh_outage import outages_told
from toolmesh_cli.stop_requests import stop_requests
from toolmesh_cli.task_output import TaskPrinter, show_end
from toolmesh_cli.terminal import Colour, Terminal, visible
from toolmesh_cli.typed_lines import TypedLines
from toolmesh_client.token_claims import read_claims
from toolmesh_contracts.config_problems import nearest
from toolmesh_contracts.envelopes.task import Answer
from toolmesh_contracts.errors import ErrorCode, ToolmeshError
from toolmesh_executor.loop.records import QuestionAsked, QuestionKind
from toolmesh_executor.loop.task_state import TaskState

__all__ = ["ChatOptions", "run_chat"]

_STDIN: Final = 0
_YES: Final = frozenset({"y", "yes"})
_NO: Final = frozenset({"n", "no"})
_COMMANDS: Final = {
    "/help": "what can be typed here",
    "/tools": "the tools that the agent has for you now, without the other agents that it may ask",
    "/task": "the id with which `toolmesh chat --resume` goes on later",
    "/new": "forget the conversation",
    "/quit": "leave, as Ctrl-D does",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatOptions:
    """What `toolmesh chat` was asked for."""

    agent: str
    resume: str = ""
    """Id of the last task of an earlier conversation."""
    scopes: tuple[str, ...] | None = None
    user: str | None = None
    data_folder: Path | None = None


async def run_chat(options: ChatOptions) -> int:
    """Hold a conversation until its person leaves, and return the exit code."""
    folder = folder_of(options.data_folder)
    stdout, stderr = Terminal.stdout(), Terminal.stderr()
    async with (
        connect_to_mesh(folder, user=options.user, scopes=options.scopes) as mesh,
        outages_told(mesh, folder, stderr),
    ):
        chat = _Chat(options, mesh, stdout, stderr)
        await chat.check()
        return await chat.run()


class _Chat:
    def __init__(self, options: ChatOptions, mesh: MeshConnection, stdout: Terminal, stderr: Terminal) -> None:
        self._agent = options.agent
        self._follows = options.resume
        self._tasks = tasks_of(mesh)
        self._mesh = mesh
        self._folder = folder_of(options.data_folder)
        self._stdout = stdout
        self._stderr = stderr
        self._lines = TypedLines(_STDIN)
        self._on_terminal = sys.stdin.isatty() and sys.stdout.isatty()
        self._task: asyncio.Task[TaskState] | None = None

    async def check(self) -> None:
        """Refuse an agent that this person can't talk to, and a conversation that is none of theirs with it.

        Raises:
            ToolmeshError: there is no such agent or conversation, or this person may not call the agent.
        """
        await self._tools()
        if not self._follows:
            return
        started = (await self._tasks.state(self._follows)).started
        user = read_claims(await self._mesh.tokens()).subject
        if started is None or (started.agent, started.user) != (self._agent, user):
            raise ToolmeshError(
                f"task {self._follows} is not one in which {user!r} asked agent {self._agent!r}",
                code=ErrorCode.INVALID_REQUEST,
                hint="`/task` in a conversation, and `toolmesh tasks list`, tell the ids",
            )

    async def run(self) -> int:
        """Go on until the input ends or Ctrl-C is pressed while nothing runs."""
        talking = asyncio.create_task(self._talk())

        def interrupt() -> None:
            (self._task or talking).cancel()

        with stop_requests(first=talking.cancel, again=talking.cancel, interrupt=interrupt):
            try:
                await asyncio.wait({talking})
            finally:
                talking.cancel()
                await asyncio.wait({talking})
        if talking.cancelled():
            return exit_codes.CANCELLED
        talking.result()
        return exit_codes.OK

    async def _talk(self) -> None:
        if self._on_terminal:
            self._stderr.hint(f"you talk to {self._agent}; /help tells what else can be typed, Ctrl-D leaves")
        while (line := await self._next_line()) is not None:
            text = line.strip()
            if text == "/quit":
                return
            try:
                if text.startswith("/"):
                    await self._command(text)
                elif text:
                    await self._say(text)
            except CommandFailedError:
                raise  # nobody reads the answers any more
            except ToolmeshError as error:
                self._stderr.error(error.code, error.message, error.hint)

    async def _next_line(self) -> str | None:
        if self._on_terminal:
            self._stdout.piece(self._stdout.paint("> ", Colour.STRONG))
        line = await self._lines.next()
        if line is None and self._on_terminal:
            self._stdout.line("")
        return line

    async def _command(self, text: str) -> None:
        match text:
            case "/help":
                for name, meaning in _COMMANDS.items():
                    self._stderr.line(f"{name:<8} {meaning}")
            case "/tools":
                for name, description in (await self._tools()).items():
                    self._stderr.line(visible(f"{name}  {(description.strip() or '-').splitlines()[0]}"))
            case "/task":
                self._stderr.line(self._follows or "nothing was said yet")
            case "/new":
                self._follows = ""
                self._stderr.line("the conversation is forgotten")
            case _:
                near = nearest(text, list(_COMMANDS)) or "/help"
                self._stderr.warning(f"there is no {text}; did you mean {near}?")

    async def _tools(self) -> dict[str, str]:
        files = known_agent_files((), self._folder)
        return agent_caller(self._agent, files, self._mesh).tools(await self._mesh.tokens())

    async def _say(self, text: str) -> None:
        """Run one task; Ctrl-C gives it up, and the agent remembers as much of it as there was."""
        token = await self._mesh.tokens()
        task = await self._tasks.start(self._agent, text, token, follows=self._follows)
        self._follows = task
        streams = self._stdout if self._on_terminal else None
        printer = TaskPrinter(streams, self._stderr)
        self._task = asyncio.create_task(self._follow(task, printer))
        try:
            await asyncio.wait({self._task})
            if self._task.cancelled():
                self._stderr.warning("given up")
            else:
                show_end(self._task.result(), None if streams else self._stdout, self._stderr)
        finally:
            self._task.cancel()
            await asyncio.wait({self._task})
            self._task = None

    async def _follow(self, task: str, printer: TaskPrinter) -> TaskState:
        """Follow a task to its end; whenever it waits for a person, this one is asked."""
        asked = AskedTask(self._tasks, task, printer.show)
        while (state := await asked.until_it_needs_someone()).ended is None:
            for question in asked.new_questions():
                answer = await self._ask_person(question.asked)
                await self._tasks.answer(question.task, answer, await self._mesh.tokens())
        return state

    async def _ask_person(self, asked: QuestionAsked) -> Answer:
        wants = "yes or no" if asked.asks_for is QuestionKind.APPROVAL else "your answer"
        while True:
            if self._on_terminal:
                self._stdout.piece(self._stdout.paint(f"{wants}> ", Colour.STRONG))
            line = await self._lines.next()
            if line is None:
                return Answer(call=asked.call, text="the person has left")
            said = line.strip()
            if asked.asks_for is QuestionKind.INPUT and said:
                return Answer(call=asked.call, text=said)
            word, _, reason = said.partition(" ")
            if word.lower() in _YES or word.lower() in _NO:
                return Answer(call=asked.call, approved=word.lower() in _YES, text=reason)
            self._stderr.warning(f"{wants}, please")
