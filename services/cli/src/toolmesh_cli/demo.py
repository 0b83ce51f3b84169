"""`toolmesh demo`: a mesh on the repository's examples, some calls and an agent's task through it, and its end."""

import asyncio
import contextlib
import json
import os
import shlex
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from toolmesh_cli import exit_codes
from toolmesh_cli.agent_call import agent_caller
from toolmesh_cli.asked_task import AskedTask, deadline_ms, tasks_of
from toolmesh_cli.demo_model import QUESTION, demo_model
from toolmesh_cli.failures import CommandFailedError, Failure, describe
from toolmesh_cli.followed_call import show_status
from toolmesh_cli.library_logs import library_warnings
from toolmesh_cli.mesh import running_mesh
from toolmesh_cli.mesh_connection import MeshConnection, connect_to_mesh
from toolmesh_cli.mesh_options import MeshOptions
from toolmesh_cli.stop_requests import stop_requests
from toolmesh_cli.task_output import TaskPrinter
from toolmesh_cli.terminal import Colour, Terminal, visible
from toolmesh_client.request import CallRequest
from toolmesh_client.result import CallResult
from toolmesh_contracts.envelopes.reply import Status
from toolmesh_contracts.errors import ErrorCode, ToolmeshError
from toolmesh_executor.loop.records import TaskCompleted, TaskFailed

__all__ = ["run_demo"]

_CALL_S: Final = 30.0
_TASK_S: Final = 120.0
_AGENT: Final = "weather_agent"
_MODEL_VARIABLE: Final = "TOOLMESH_MODEL"


@dataclass(frozen=True, slots=True)
class _Call:
    tool: str
    arguments: dict[str, Any] = field(default_factory=dict)
    agent: str | None = None

    def __str__(self) -> str:
        command = ["toolmesh", "call", self.tool, *(["--agent", self.agent] if self.agent else [])]
        return shlex.join([*command, "--args", json.dumps(self.arguments)])


_CALLS: Final = (
    _Call("weather", {"city": "Oslo"}),
    _Call("outlook", {"city": "Oslo", "days": 3}),
    _Call("warnings", {"region": "NO-03"}),
    _Call("outlook_fahrenheit", {"city": "Oslo", "days": 2}, agent="weather_agent"),
)


async def run_demo(workers: int, *, allow_unsandboxed: bool) -> int:
    """Run the demo and return the exit code; the last line says how it went."""
    terminal = Terminal.stdout()
    started = time.monotonic()
    task = asyncio.current_task()
    interrupt = (lambda: None) if task is None else task.cancel
    try:
        with library_warnings(terminal), stop_requests(first=interrupt, again=interrupt):
            await _demo(workers, allow_unsandboxed, terminal)
    except asyncio.CancelledError:
        terminal.line("demo: failed: interrupted")
        return exit_codes.CANCELLED
    except Exception as error:
        failure = describe(error)
        if failure is None:
            raise
        _tell_failure(failure, terminal)
        return failure.exit_code
    terminal.line(f"demo: ok in {time.monotonic() - started:.1f} s")
    return exit_codes.OK


def _tell_failure(failure: Failure, terminal: Terminal) -> None:
    hint = f" ({failure.hint})" if failure.hint else ""
    terminal.line(f"demo: failed: {visible(failure.message)}{hint}")


async def _demo(workers: int, allow_unsandboxed: bool, terminal: Terminal) -> None:
    examples = _examples_folder()
    async with contextlib.AsyncExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="toolmesh-demo-"))
        has_model = bool(os.environ.get(_MODEL_VARIABLE))
        options = MeshOptions(
            tools=(examples / "weather", examples / "library_desk"),
            agents=(examples / "agents" / "weather_agent.yaml", examples / "library_desk"),
            workers=workers,
            data_folder=Path(folder),
            sandbox="direct" if allow_unsandboxed else "bwrap",
            executor_variables={} if has_model else await stack.enter_async_context(demo_model()),
        )
        await stack.enter_async_context(running_mesh(options, terminal))
        mesh = await stack.enter_async_context(connect_to_mesh(options.data_folder))
        for call in _CALLS:
            await _show(call, mesh, options, terminal)
        await _ask(mesh, terminal)


async def _ask(mesh: MeshConnection, terminal: Terminal) -> None:
    command = shlex.join(["toolmesh", "ask", _AGENT, QUESTION])
    terminal.line(f"\n$ {terminal.paint(command, Colour.STRONG)}")
    tasks = tasks_of(mesh)
    task = await tasks.start(_AGENT, QUESTION, await mesh.tokens(), deadline_ms=deadline_ms(_TASK_S))
    state = await AskedTask(tasks, task, TaskPrinter(None, terminal).show).until_it_needs_someone()
    if not isinstance(state.ended, TaskCompleted):
        code = state.ended.code if isinstance(state.ended, TaskFailed) else ErrorCode.CANCELLED
        message = state.ended.message if isinstance(state.ended, TaskFailed) else "the task did not come to an end"
        raise ToolmeshError(f"{_AGENT}: {message}", code=code)
    terminal.line(terminal.paint(visible(state.ended.text), Colour.GOOD))


async def _show(call: _Call, mesh: MeshConnection, options: MeshOptions, terminal: Terminal) -> None:
    terminal.line(f"\n$ {terminal.paint(str(call), Colour.STRONG)}")
    result = await _run(call, mesh, options, terminal)
    if result.error is not None:
        raise CommandFailedError(
            f"{call.tool}: {result.error.message}",
            code=result.error.code,
            exit_code=exit_codes.exit_code_of(result.error.code) or exit_codes.FAILED,
            hint=result.error.hint,
        )
    terminal.line(terminal.paint(visible(result.message or result.text()), Colour.GOOD))


async def _run(call: _Call, mesh: MeshConnection, options: MeshOptions, terminal: Terminal) -> CallResult:
    def on_status(status: Status) -> None:
        show_status(status, terminal)

    arguments = json.dumps(call.arguments).encode()
    if call.agent is not None:
        return await agent_caller(call.agent, options.agents, mesh).call(call.tool, arguments, _CALL_S, on_status)
    request = CallRequest(tool=call.tool, arguments=arguments, timeout_s=_CALL_S)
    return await mesh.client.run(request, on_status)


def _examples_folder() -> Path:
    """Return the checkout's examples: beside this file's workspace, or below the current folder."""
    checkouts = [Path.cwd()]
    with contextlib.suppress(IndexError):
        checkouts.insert(0, Path(__file__).resolve().parents[4])
    for checkout in checkouts:
        if (checkout / "examples" / "weather" / "manifest.yaml").is_file():
            return checkout / "examples"
    raise ToolmeshError(
        "the examples are not here",
        code=ErrorCode.INVALID_CONFIGURATION,
        hint="run it in a checkout of the repository",
    )
