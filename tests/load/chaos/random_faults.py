"""Faults that come at any time, drawn from a seed."""

import asyncio
import random
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from tests.load.chaos.blows import Blows
from tests.load.chaos.program import Program
from tests.load.chaos.world import World

__all__ = ["RandomFaults"]

_LONGER_THAN_A_LEASE_S: Final = (7.0, 10.0)
_SHORT_S: Final = (0.5, 5.0)
_HALF_OPEN_S: Final = (22.0, 26.0)
"""Two missed pings are noticed after 20 s; what is shorter only stalls."""
_CUT_S: Final = (1.0, 24.0)
_FULL_S: Final = (1.0, 6.0)

_Act: TypeAlias = Callable[[], Coroutine[Any, Any, None]]


@dataclass(eq=False)
class RandomFaults:
    """One fault after the other, until cancelled; those of processes may overlap, those of the broker never."""

    workers: dict[str, Program]
    executors: dict[str, Program]
    world: World
    blows: Blows
    chance: random.Random
    pause_s: tuple[float, float]
    """Between two faults."""
    _one_stands_still: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def run(self, group: asyncio.TaskGroup) -> None:
        """Break things."""
        kinds = self._of_processes()
        while True:
            await asyncio.sleep(self.chance.uniform(*self.pause_s))
            act = self.chance.choices([act for act, _ in kinds], [weight for _, weight in kinds])[0]
            group.create_task(act())

    async def break_the_broker(self, pause_s: tuple[float, float]) -> None:
        """Kill nodes, stop them, fill their disk, one at a time; the mesh has some quiet between."""
        kinds: list[tuple[_Act, int]] = [(self._broker_killed, 4), (self._broker_stopped, 3), (self._half_open, 1)]
        if self.world.disk is not None:
            kinds.append((self._disk_full, 2))
        while True:
            await asyncio.sleep(self.chance.uniform(*pause_s))
            await self.chance.choices([act for act, _ in kinds], [weight for _, weight in kinds])[0]()

    def _of_processes(self) -> list[tuple[_Act, int]]:
        kinds: list[tuple[_Act, int]] = [
            (lambda: self._killed(self.workers), 2),
            (lambda: self._killed(self.executors), 2),
            (lambda: self._zombie(self.workers), 4),
            (lambda: self._zombie(self.executors), 2),
            (self._drained, 2),
        ]
        if self.world.net is not None:
            kinds.append((self._cut, 3))
        return kinds

    def _free(self, programs: dict[str, Program]) -> Program | None:
        """Return one that no other fault deals with, if another one is left then."""
        free = [program for program in programs.values() if program.alive and not program.busy.locked()]
        return self.chance.choice(free) if len(free) > 1 else None

    async def _killed(self, programs: dict[str, Program]) -> None:
        if (program := self._free(programs)) is not None:
            async with program.busy:
                await self.blows.kill(program, self.chance.uniform(0, 2))

    async def _zombie(self, programs: dict[str, Program]) -> None:
        # One at a time: with most of them standing still nothing is left that could go wrong.
        if not self._one_stands_still.locked() and (program := self._free(programs)) is not None:
            async with self._one_stands_still, program.busy:
                span = _LONGER_THAN_A_LEASE_S if self.chance.random() < 0.7 else _SHORT_S
                await self.blows.stop_for(program, self.chance.uniform(*span))

    async def _drained(self) -> None:
        if (program := self._free(self.workers)) is not None:
            async with program.busy:
                await self.blows.drain(program, self.chance.uniform(0, 1))

    async def _cut(self) -> None:
        program = self._free(self.chance.choice([self.workers, self.executors]))
        if program is None:
            return
        async with program.busy:
            async with self.blows.noted("cut", program.name):
                await self.world.cut(program.name)
                try:
                    await asyncio.sleep(self.chance.uniform(*_CUT_S))
                finally:
                    await self.world.heal(program.name)

    async def _broker_killed(self) -> None:
        node = self.chance.choice(self.world.cluster.nodes)
        async with self.blows.noted("broker kill", node.name):
            await node.kill()
            try:
                await asyncio.sleep(self.chance.uniform(0, 3))
            finally:
                await self.world.restart(node)

    async def _broker_stopped(self) -> None:
        await self._broker_stands_still(self.chance.uniform(*_SHORT_S))

    async def _half_open(self) -> None:
        await self._broker_stands_still(self.chance.uniform(*_HALF_OPEN_S))

    async def _broker_stands_still(self, seconds: float) -> None:
        node = self.chance.choice(self.world.cluster.nodes)
        async with self.blows.noted("broker stop", node.name):
            await node.pause()
            try:
                await asyncio.sleep(seconds)
            finally:
                node.resume()

    async def _disk_full(self) -> None:
        disk = self.world.disk
        assert disk is not None
        async with self.blows.noted("disk full", "broker"):
            await asyncio.to_thread(disk.fill)
            try:
                await asyncio.sleep(self.chance.uniform(*_FULL_S))
            finally:
                disk.free()
                # As `toolmesh up` does: a server that met a full disk takes nothing until it is started anew.
                await self.world.restart(self.world.cluster.nodes[0])
