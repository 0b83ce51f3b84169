"""Stops processes at named steps and kills one of the two that have the call, the least hit step first."""

import asyncio
import random
import signal
from dataclasses import dataclass, field
from typing import Final

from tests.load.chaos.blows import Blows
from tests.load.chaos.coverage import Coverage, Dies
from tests.load.chaos.program import Held, Program
from tests.load.chaos.sightings import Sightings

from toolmesh_contracts.call_steps import EXECUTOR_STEPS, WORKER_STEPS, CallStep

__all__ = ["Campaigns"]

_UP_S: Final = 5.0
_USUAL_S: Final = 2.5
_RARE_S: Final = 6.0
_RARE: Final = frozenset({CallStep.RENEWED, CallStep.RESULT_STORED})
_PICKED_UP_S: Final = 1.5
"""For a worker to have a call that was just published."""


@dataclass(eq=False)
class Campaigns:
    """One for each program, until they are cancelled."""

    workers: dict[str, Program]
    executors: dict[str, Program]
    coverage: Coverage
    sightings: Sightings
    blows: Blows
    chance: random.Random
    _restarts: set["asyncio.Task[None]"] = field(default_factory=set)

    async def run(self, program: Program, group: asyncio.TaskGroup) -> None:
        """Hold one program at one step after the other."""
        steps = WORKER_STEPS if program.kind == "worker" else EXECUTOR_STEPS
        while True:
            await asyncio.sleep(self.chance.uniform(0.05, 0.6))
            if program.busy.locked():
                continue
            if not program.alive:
                # It could not start without a broker, as it should: whoever runs it starts it again.
                async with program.busy:
                    await program.gone()
                    await program.start()
                continue
            if not await program.up(_UP_S):
                continue
            chosen = self.coverage.next_of(steps, [dies for dies in Dies if self._can_be_spared(dies)])
            if chosen is None:
                continue
            step, dies = chosen
            held = await program.hold(step, _RARE_S if step in _RARE else _USUAL_S)
            if held is None:
                self.coverage.missed(step, dies)
                continue
            if program.busy.locked():
                # A fault has come upon it meanwhile, such as SIGTERM: it shall not stand still then.
                program.signal(signal.SIGCONT)
                continue
            victim = await self._victim(program, held, dies)
            if victim is program:
                async with program.busy:
                    self.coverage.hit(step, dies)
                    await self.blows.kill(program, self._rest(), step=step, call=held.call, dies=dies)
                continue
            if victim is not None and not victim.busy.locked():
                self.coverage.hit(step, dies)
                group.create_task(self._kill_other(victim, step, held.call, dies))
                await asyncio.sleep(self.chance.choice((0.0, 0.01, 0.3)))
            program.signal(signal.SIGCONT)

    async def _kill_other(self, victim: Program, step: CallStep, call: str, dies: Dies) -> None:
        async with victim.busy:
            await self.blows.kill(victim, self._rest(), step=step, call=call, dies=dies)

    async def _victim(self, program: Program, held: Held, dies: Dies) -> Program | None:
        """Return who is to die; None if it is not there."""
        if dies == f"{program.kind} dies":
            return program
        if dies is Dies.EXECUTOR:
            victim = self.executors.get(self.sightings.executor_of(held.call) or "")
        else:
            victim = await self._worker_of(held)
        return victim if victim is not None and victim.alive else None

    async def _worker_of(self, held: Held) -> Program | None:
        if held.step is CallStep.WAITER_REGISTERED:
            return self.chance.choice(list(self.workers.values()))
        loop = asyncio.get_running_loop()
        end = loop.time() + (_PICKED_UP_S if held.step is CallStep.PUBLISHED else 0.0)
        while (name := self.sightings.worker_of(held.call)) is None and loop.time() < end:
            await asyncio.sleep(0.02)
        return self.workers.get(name or "")

    def _can_be_spared(self, dies: Dies) -> bool:
        """Whether enough are left to go on: with all of them down nothing comes to any step."""
        programs, left = (self.workers, 2) if dies is Dies.WORKER else (self.executors, 1)
        return sum(program.alive and program.ready.is_set() for program in programs.values()) > left

    def _rest(self) -> float:
        return self.chance.uniform(0, 0.5)
