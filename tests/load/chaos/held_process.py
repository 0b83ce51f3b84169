"""The inside of a program that stops itself at a named step.

It takes lines from a socket: `hold STEP` (stop at the next call that gets there), `let` (no longer) and others that the
program itself knows. Before it stops it says `at STEP CALL` there.
"""

import asyncio
import os
import signal
import socket
from collections.abc import Awaitable, Callable

from tests.load.chaos.journal import Journal

from toolmesh_contracts.call_steps import CallStep

__all__ = ["StepHolder"]


class StepHolder:
    """A call observer that notes every step, and stops this process at the one that it was told.

    Args:
        journal: Where steps are noted.
        control: Where orders come from, and answers go.
        ready: Says, before the process stops at a step, whether what the step stands for has happened; it may wait.
    """

    def __init__(
        self,
        journal: Journal,
        control: socket.socket,
        ready: Callable[[CallStep, str], Awaitable[bool]] | None = None,
    ) -> None:
        self._journal = journal
        self._control = control
        self._ready = ready
        self._wanted: CallStep | None = None
        self._commands: dict[str, Callable[[], None]] = {}

    def on_command(self, word: str, act: Callable[[], None]) -> None:
        """Do `act` when the line `word` comes."""
        self._commands[word] = act

    def listen(self) -> None:
        """Take orders from now on; the running loop reads them."""
        asyncio.get_running_loop().add_reader(self._control, self._read)

    async def observe(self, step: CallStep, invocation: str) -> None:
        """Note a step; stop here if that was asked for."""
        self._journal.write("step", step=step, call=invocation, pid=os.getpid())
        if step is not self._wanted:
            return
        self._wanted = None
        if self._ready is not None and not await self._ready(step, invocation):
            return
        self.tell(f"at {step.name} {invocation}")
        os.kill(os.getpid(), signal.SIGSTOP)

    def tell(self, line: str) -> None:
        """Tell the director."""
        self._control.sendall(f"{line}\n".encode())

    def _read(self) -> None:
        data = self._control.recv(4096)
        if not data:
            asyncio.get_running_loop().remove_reader(self._control)
        for line in data.decode().splitlines():
            word, _, name = line.partition(" ")
            if word == "hold":
                self._wanted = CallStep[name]
            elif word == "let":
                self._wanted = None
            elif word in self._commands:
                self._commands[word]()
