"""`toolmesh chat`: a conversation with an agent, line by line."""

import asyncio
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolmesh_cli import exit_codes
from toolmesh_cli.asked_agent import asked_agent
from toolmesh_cli.failures import CommandFailedError
from toolmesh_cli.mesh_connection import MeshConnection, connect_to_mesh, folder_of
from toolmesh_cli.mesh_outage import outages_told
from toolmesh_cli.stop_requests import stop_requests
from toolmesh_cli.task_output import TaskPrinter, show_end
from toolmesh_cli.terminal import Colour, Terminal, visible
from toolmesh_cli.typed_lines import TypedLines
from toolmesh_contracts.config_problems import nearest
from toolmesh_contracts.errors import ToolmeshError
from toolmesh_executor.agent_tasks import AgentTasks
from toolmesh_executor.loop.records import Record
from toolmesh_executor.loop.task_state import TaskState

__all__ = ["ChatOptions", "run_chat"]

_STDIN: Final = 0
_COMMANDS: Final = {
    "/help": "what can be typed here",
    "/tools": "the tools that the agent has for you now",
    "/new": "forget the conversation",
    "/quit": "leave, as Ctrl-D does",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatOptions:
    """What `toolmesh chat` was asked for."""

    agent: str
    agent_files: tuple[Path, ...] = ()
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
        asked_agent(options.agent, options.agent_files, folder, mesh) as tasks,
    ):
        tasks.tools(await mesh.tokens())
        return await _Chat(options.agent, tasks, mesh, stdout, stderr).run()


class _Chat:
    def __init__(self, agent: str, tasks: AgentTasks, mesh: MeshConnection, stdout: Terminal, stderr: Terminal) -> None:
        self._agent = agent
        self._tasks = tasks
        self._mesh = mesh
        self._stdout = stdout
        self._stderr = stderr
        self._lines = TypedLines(_STDIN)
        self._on_terminal = sys.stdin.isatty() and sys.stdout.isatty()
        self._said: list[TaskState] = []
        self._task: asyncio.Task[TaskState] | None = None

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
                    await self._answer(text)
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
                for tool in self._tasks.tools(await self._mesh.tokens()):
                    first = (tool.offered.description.strip() or "-").splitlines()[0]
                    self._stderr.line(visible(f"{tool.offered.name}  {first}"))
            case "/new":
                self._said.clear()
                self._stderr.line("the conversation is forgotten")
            case _:
                near = nearest(text, list(_COMMANDS)) or "/help"
                self._stderr.warning(f"there is no {text}; did you mean {near}?")

    async def _answer(self, text: str) -> None:
        """Run one task; Ctrl-C gives it up, and the agent remembers as much of it as there was."""
        streams = self._stdout if self._on_terminal else None
        printer, state = TaskPrinter(streams, self._stderr), TaskState()

        def on_record(record: Record) -> None:
            nonlocal state
            state = state.after(record)
            printer.show(record)

        token = await self._mesh.tokens()
        self._task = asyncio.create_task(self._tasks.run(text, token, on_record, earlier=tuple(self._said)))
        try:
            await asyncio.wait({self._task})
            if self._task.cancelled():
                self._stderr.warning("given up")
            else:
                self._task.result()
        finally:
            self._task.cancel()
            await asyncio.wait({self._task})
            self._task = None
        if state.started is not None:
            self._said.append(state)
        show_end(state, None if streams else self._stdout, self._stderr)
