"""A worker or an executor as the director sees it: a process that is started again and again under one name."""

import asyncio
import contextlib
import os
import signal
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any, Final

from tests.load.chaos.forked import fork
from tests.support.network_namespaces import Machine

from toolmesh_contracts.call_steps import CallStep

__all__ = ["Held", "Program"]

_POLL_S: Final = 0.002


@dataclass(frozen=True, slots=True)
class Held:
    """A process that stands still at a step."""

    step: CallStep
    call: str


@dataclass(eq=False)
class Program:
    """One name, of which at most one process is there at a time.

    Attributes:
        name: Its name, also on the broker.
        kind: `worker` or `executor`.
        module: The program.
        order: Writes the order of the next process, and returns its path.
        log: Where stderr goes.
        machine: Where it runs; None: on this one.
        busy: Held while one fault deals with it.
        ended_by_itself: When processes ended that nobody had ended (Unix time in seconds), with their exit codes.
    """

    name: str
    kind: str
    module: str
    order: Callable[[], Path]
    log: Path
    machine: Machine | None = None
    busy: asyncio.Lock = field(default_factory=asyncio.Lock)
    ended_by_itself: list[tuple[float, int]] = field(default_factory=list)
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    idle: asyncio.Event = field(default_factory=asyncio.Event)
    _process: ForkServerProcess | None = None
    _handle: int | None = None
    """Descriptor of the process."""
    _writer: asyncio.StreamWriter | None = None
    _starting: "asyncio.Task[None] | None" = None
    _watch: "asyncio.Task[None] | None" = None
    _held: "asyncio.Future[Held] | None" = None
    """Who waits for it to stop at a step."""
    _doomed: bool = False
    _gone: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def alive(self) -> bool:
        """Whether a process is there, running or stopped."""
        return self._process is not None and not self._gone.is_set() and not self._doomed

    @property
    def pid(self) -> int:
        """The process, or the last one."""
        return 0 if self._process is None else self._process.pid or 0

    async def start(self) -> None:
        """Start a process; the former one has ended.

        Cancelled half way it goes on, and the next call waits for it: two of one name would be another fault.
        """
        if self._starting is None or self._starting.done():
            self._starting = asyncio.create_task(self._start())
        self._doomed = False
        await asyncio.shield(self._starting)

    async def _start(self) -> None:
        self._process = None
        self._gone.clear()
        self.ready.clear()
        self.idle.clear()
        path = await asyncio.to_thread(self.order)
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = await asyncio.to_thread(fork, self.module, path, theirs, self.log, self.machine)
        with contextlib.suppress(ProcessLookupError):
            self._handle = os.pidfd_open(self.pid)
        reader, self._writer = await asyncio.open_connection(sock=ours)
        self._watch = asyncio.create_task(self._follow(self._process, reader, self._writer))

    async def up(self, within_s: float) -> bool:
        """Wait until the process does its work; False if it does not get there in time."""
        try:
            async with asyncio.timeout(within_s):
                await self.ready.wait()
        except TimeoutError:
            return False
        return True

    async def hold(self, step: CallStep, within_s: float) -> Held | None:
        """Have it stop at a step; None if it did not get there in time, or ended."""
        asked: asyncio.Future[Held] = asyncio.get_running_loop().create_future()
        self._held = asked
        gone = asyncio.create_task(self._gone.wait())
        waited: set[asyncio.Future[Any]] = {asked, gone}
        try:
            self.say(f"hold {step.name}")
            await asyncio.wait(waited, timeout=within_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            gone.cancel()
            if not asked.done():
                self._held = None
                self.say("let")
        return asked.result() if asked.done() else None

    def say(self, line: str) -> None:
        """Tell the process something."""
        if self.alive and self._writer is not None:
            with contextlib.suppress(ConnectionError):
                self._writer.write(f"{line}\n".encode())

    def signal(self, number: signal.Signals) -> None:
        """Send a signal."""
        if self._handle is not None:
            # It may have ended a moment ago; by its handle no other process gets the signal.
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._handle, number)

    def kill(self) -> None:
        """Kill -9; it does not count as alive from now on."""
        self._doomed = True
        self.signal(signal.SIGKILL)

    async def drain(self, within_s: float) -> bool:
        """SIGTERM; False if it has to be killed because it did not end in time."""
        self._doomed = True
        self.signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(within_s):
                await self.gone()
        except TimeoutError:
            self.kill()
            await self.gone()
            return False
        return True

    async def gone(self) -> None:
        """Wait until the process has ended."""
        if self._process is not None:
            await self._gone.wait()

    async def _follow(
        self, process: ForkServerProcess, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        with contextlib.suppress(ConnectionError):
            await self._hear(process.pid or 0, reader)
        writer.close()
        # The forks' parent, which waits for them, tells how they ended.
        await asyncio.to_thread(process.join)
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None
        if not self._doomed:
            self.ended_by_itself.append((time.time(), process.exitcode or 0))
        self._gone.set()

    async def _hear(self, pid: int, reader: asyncio.StreamReader) -> None:
        while line := (await reader.readline()).decode():
            word, *rest = line.split()
            if word == "at":
                await _stands_still(pid)
                if self._held is not None and not self._held.done():
                    self._held.set_result(Held(CallStep[rest[0]], rest[1]))
                else:
                    # Told too late that nobody waits for it.
                    self.signal(signal.SIGCONT)
            elif word == "ready":
                self.ready.set()
            elif word == "idle":
                self.idle.set()


async def _stands_still(pid: int) -> None:
    """A process says where it is before it stops itself."""
    while _state(pid) not in "TZ":
        await asyncio.sleep(_POLL_S)


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"
