"""Keeps the children of `toolmesh up` running: starts them together, again when they die, and stops them in order."""

import asyncio
import contextlib
import re
import signal
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Final

from toolmesh_cli import exit_codes
from toolmesh_cli.child_process import ChildProcess, ChildProgram, how_it_ended
from toolmesh_cli.failures import CommandFailedError
from toolmesh_cli.output_lines import LogLine
from toolmesh_cli.rotating_log import RotatingLog
from toolmesh_cli.terminal import Terminal
from toolmesh_cli.toolset_changes import ToolsetChanges
from toolmesh_contracts.errors import ErrorCode

__all__ = ["KeptProcess", "supervise"]

_MAX_FAILED_STARTS: Final = 3
_FIRST_PAUSE_S: Final = 0.2
_LONGEST_PAUSE_S: Final = 10.0
_HEALTHY_AFTER_S: Final = 30.0
_SHOWN_LINES: Final = 5
_TOLD: Final = re.compile(r"error \[(?P<code>[A-Z_]+)\]: (?P<message>.*)")
_UNSANDBOXED: Final = "--allow-unsandboxed runs tools without isolation, for development only"


class KeptProcess:
    """One program that is started again whenever it ends, until it is stopped."""

    def __init__(self, program: ChildProgram, terminal: Terminal, changes: ToolsetChanges) -> None:
        self.program = program
        self.ready = asyncio.Event()
        self.health_port: int | None = None
        self._terminal = terminal
        self._changes = changes
        self._child: ChildProcess | None = None
        self._stopping = asyncio.Event()
        self._ended = asyncio.Event()

    async def run(self) -> None:
        """Run until stopped.

        Raises:
            CommandFailedError: it ended three times without ever being ready, or once with a configuration error.
        """
        try:
            with RotatingLog(self.program.log_file) as log:
                await self._run_again_and_again(log)
        finally:
            self._ended.set()

    async def _run_again_and_again(self, log: RotatingLog) -> None:
        clock = asyncio.get_running_loop().time
        failed_starts = 0
        pause_s = _FIRST_PAUSE_S
        while not self._stopping.is_set():
            started = clock()
            child = self._child = ChildProcess(self.program, log, self._take_in)
            code = await child.run()
            self.ready.clear()
            if self._stopping.is_set():
                return
            failed_starts = 0 if child.was_ready else failed_starts + 1
            if failed_starts >= _MAX_FAILED_STARTS or (failed_starts and code == exit_codes.USAGE):
                raise _start_failed(self.program, child, code)
            if clock() - started > _HEALTHY_AFTER_S:
                pause_s = _FIRST_PAUSE_S
            ended = how_it_ended(code)
            self._terminal.warning(f"{self.program.name} ended ({ended}); it starts again in {pause_s:g} s")
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), pause_s)
            pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)

    @property
    def pid(self) -> int | None:
        """Process id of the running process."""
        return None if self._child is None else self._child.pid

    async def stop(self, grace_s: float) -> bool:
        """Ask it to end, and kill it after `grace_s` seconds; return whether it ended by itself."""
        self._stopping.set()
        if self._child is not None:
            self._child.signal(signal.SIGTERM)
        try:
            await asyncio.wait_for(self._ended.wait(), grace_s)
        except TimeoutError:
            self.kill()
            await self._ended.wait()
            return False
        return True

    def kill(self) -> None:
        """End it at once and for good."""
        self._stopping.set()
        if self._child is not None:
            self._child.signal(signal.SIGKILL)

    def _take_in(self, line: LogLine) -> None:
        if line.is_ready:
            self.health_port = line.health_port
            self.ready.set()
        elif line.change:
            self._changes.tell(self.program.name, line.change)


@contextlib.asynccontextmanager
async def supervise(programs: Iterable[ChildProgram], terminal: Terminal) -> AsyncIterator[Sequence[KeptProcess]]:
    """Keep the programs running inside the block; whatever still runs at its end is killed.

    Raises:
        ExceptionGroup: of CommandFailedError, when one can't be started.
    """
    changes = ToolsetChanges(terminal)
    kept = [KeptProcess(program, terminal, changes) for program in programs]
    async with asyncio.TaskGroup() as group:
        for process in kept:
            group.create_task(process.run(), name=process.program.name)
        try:
            yield kept
        finally:
            for process in kept:
                process.kill()


def _start_failed(program: ChildProgram, child: ChildProcess, code: int) -> CommandFailedError:
    exit_code = code if code in set(exit_codes.EXIT_CODES.values()) else exit_codes.FAILED
    log = f"its whole log: {program.log_file}"
    for line in reversed(child.last_lines):
        if told := _TOLD.fullmatch(str(line)):
            hint = _UNSANDBOXED if told["code"] == ErrorCode.SANDBOX_UNAVAILABLE else log
            error_code = _known_code(told["code"])
            message = f"{program.name} can't start: {told['message']}"
            return CommandFailedError(message, code=error_code, exit_code=exit_code, hint=hint)
    lines = [str(line) for line in child.last_lines][-_SHOWN_LINES:]
    said = "".join(f"\n  {line}" for line in lines) or " it said nothing"
    message = f"{program.name} can't start ({how_it_ended(code)}):{said}"
    return CommandFailedError(message, code=ErrorCode.INTERNAL_ERROR, exit_code=exit_code, hint=log)


def _known_code(text: str) -> ErrorCode:
    try:
        return ErrorCode(text)
    except ValueError:
        return ErrorCode.INVALID_CONFIGURATION
