"""What the director does to one process: kill, stop for a while, drain; each noted as a fault from its begin to its end."""

import asyncio
import contextlib
import itertools
import signal
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Final

from tests.load.chaos.journal import Journal
from tests.load.chaos.program import Program

__all__ = ["Blows"]

_DRAIN_S: Final = 40.0
_KILLED_S: Final = 20.0


@dataclass
class Blows:
    """Deals with processes; the faults' journal has each blow twice: when it begins and when it is over."""

    faults: Journal
    _numbers: "itertools.count[int]" = field(default_factory=itertools.count)

    @contextlib.asynccontextmanager
    async def noted(self, kind: str, target: str, **more: object) -> AsyncIterator[None]:
        """Note a fault that lasts for the time of the block."""
        number = next(self._numbers)
        self.faults.write("begin", number=number, kind=kind, target=target, **more)
        try:
            yield
        finally:
            self.faults.write("end", number=number)

    async def kill(self, program: Program, after_s: float, **more: object) -> None:
        """Kill -9, and start it again after a while."""
        async with self.noted("kill", program.name, pid=program.pid, **more):
            program.kill()
            async with asyncio.timeout(_KILLED_S):
                await program.gone()
        await asyncio.sleep(after_s)
        await program.start()

    async def stop_for(self, program: Program, seconds: float) -> None:
        """SIGSTOP, and SIGCONT after a while: it comes back from the dead."""
        async with self.noted("stop", program.name, pid=program.pid, seconds=seconds):
            program.signal(signal.SIGSTOP)
            await asyncio.sleep(seconds)
            program.signal(signal.SIGCONT)

    async def drain(self, program: Program, after_s: float) -> None:
        """SIGTERM, and start it again after a while."""
        async with self.noted("drain", program.name, pid=program.pid):
            if not await program.drain(_DRAIN_S):
                self.faults.write("undrained", target=program.name)
        await asyncio.sleep(after_s)
        await program.start()
