"""One child of `toolmesh up`: a process of its own, its log file, and what it says of itself."""

import asyncio
import contextlib
import signal
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolmesh_cli.die_with_parent import die_with_parent
from toolmesh_cli.output_lines import LogLine, lines_of, parse_line
from toolmesh_cli.rotating_log import RotatingLog

__all__ = ["ChildProcess", "ChildProgram", "how_it_ended"]

_LAST_LINES: Final = 12
_LAST_OUTPUT_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class ChildProgram:
    """What to start.

    Attributes:
        name: Such as `worker-1`.
        command: Program and arguments; never a secret, as every user of the machine can read them.
        environment: The child's whole environment.
        log_file: Where its output goes.
    """

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str]
    log_file: Path


class ChildProcess:
    """A started program. `run` makes it and returns its exit code."""

    def __init__(self, program: ChildProgram, log: RotatingLog, on_line: Callable[[LogLine], None]) -> None:
        self._program = program
        self._log = log
        self._on_line = on_line
        self._process: asyncio.subprocess.Process | None = None
        self._early_signal: signal.Signals | None = None
        self.was_ready = False
        self.last_lines: deque[LogLine] = deque(maxlen=_LAST_LINES)

    @property
    def pid(self) -> int | None:
        """Process id, while it runs."""
        return None if self._process is None else self._process.pid

    async def run(self) -> int:
        """Start the program, follow its output, and return its exit code (negative: a signal's number).

        Raises:
            OSError: the program can't be started.
        """
        self._process = process = await asyncio.create_subprocess_exec(
            *self._program.command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=self._program.environment,
            start_new_session=True,  # Ctrl-C reaches only `toolmesh up`, which then drains in order
            preexec_fn=die_with_parent(),
        )
        try:
            if self._early_signal is not None:
                self.signal(self._early_signal)
            async with asyncio.TaskGroup() as group:
                following = group.create_task(self._follow(process))
                code = await process.wait()
                # A process that the child left behind may hold the pipe open.
                await asyncio.wait([following], timeout=_LAST_OUTPUT_S)
                following.cancel()
            return code
        finally:
            if process.returncode is None:
                self.signal(signal.SIGKILL)
                await process.wait()

    def signal(self, number: signal.Signals) -> None:
        """Send a signal, at the start if the process is just being started; nothing happens if it has ended."""
        if self._process is None:
            self._early_signal = number
        elif self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(number)

    async def _follow(self, process: asyncio.subprocess.Process) -> None:
        if process.stdout is None:
            raise AssertionError("the child was started without a pipe")
        async for raw in lines_of(process.stdout):
            self._log.write(raw)
            line = parse_line(raw)
            self.last_lines.append(line)
            self.was_ready = self.was_ready or line.is_ready
            self._on_line(line)


def how_it_ended(code: int) -> str:
    """Return an exit code in words."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"
