"""One run: starts all programs, breaks them for a time, then lets the mesh settle and collects what is known."""

import asyncio
import random
import signal
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Final

from tests.load.chaos.blows import Blows
from tests.load.chaos.campaigns import Campaigns
from tests.load.chaos.coverage import Coverage
from tests.load.chaos.history import History
from tests.load.chaos.random_faults import RandomFaults
from tests.load.chaos.sightings import Sightings
from tests.load.chaos.stage import POOL, Stage
from tests.load.chaos.traces import collect

from toolmesh_broker.errors import BrokerError
from toolmesh_broker.jetstream.keyvalue import JetStreamKeyValue

__all__ = ["Ending", "direct"]

_PROGRESS_S: Final = 10.0
_UP_S: Final = 30.0
_SETTLE_MARGIN_S: Final = 15.0
"""After the last deadline: its grace, the longest ack_wait, a look."""
_LONGEST_SETTLE_S: Final = 100.0
_POLL_S: Final = 0.25
_PAUSE_S: Final = (1.5, 6.0)
_BROKER_PAUSE_S: Final = (12.0, 35.0)
"""Long enough for calls of killed workers to be decided while the broker is whole."""


@dataclass(frozen=True)
class Ending:
    """What a run leaves to be judged.

    Attributes:
        history: All that is known of calls and faults.
        coverage: Hits of steps.
        settle_s: How long the mesh took to decide everything after the last fault.
    """

    history: History
    coverage: Coverage
    settle_s: float


async def direct(stage: Stage, seconds: float, seed: int) -> Ending:
    """Run for `seconds`, and settle."""
    chance = random.Random(seed)  # noqa: S311
    coverage = Coverage(chance)
    sightings = Sightings(stage.journals)
    blows = Blows(stage.faults)
    began = time.time()
    try:
        async with _progress(stage, sightings, coverage, began):
            for program in stage.programs.values():
                await program.start()
            for program in stage.programs.values():
                await program.up(_UP_S)
            await _break(stage, seconds - (time.time() - began), coverage, sightings, blows, chance)
            settling = time.monotonic()
            await _settle(stage, sightings)
            settle_s = time.monotonic() - settling
        history = await collect(stage)
    finally:
        for program in stage.programs.values():
            program.kill()
        for program in stage.programs.values():
            await program.gone()
    return Ending(history, coverage, settle_s)


async def _break(
    stage: Stage,
    seconds: float,
    coverage: Coverage,
    sightings: Sightings,
    blows: Blows,
    chance: random.Random,
) -> None:
    campaigns = Campaigns(stage.workers, stage.executors, coverage, sightings, blows, chance)
    faults = RandomFaults(stage.workers, stage.executors, stage.world, blows, chance, _PAUSE_S)
    # At the end blows that are under way are cut short: what was killed, stopped or cut is brought back by `_all_up`,
    # the broker by the blow itself.
    with suppress(TimeoutError):
        async with asyncio.timeout(max(1.0, seconds)), asyncio.TaskGroup() as group:
            for program in stage.programs.values():
                group.create_task(campaigns.run(program, group))
            group.create_task(faults.run(group))
            group.create_task(faults.break_the_broker(_BROKER_PAUSE_S))


async def _settle(stage: Stage, sightings: Sightings) -> None:
    """Let everything run, offer nothing more, and wait until each call is decided, or must be by its deadline."""
    await _all_up(stage)
    for program in stage.executors.values():
        program.say("quiet")
    end = time.monotonic() + _LONGEST_SETTLE_S
    while time.monotonic() < end:
        sightings.look()
        undecided = {
            call: deadline for call, deadline in sightings.undecided().items() if not await _is_stored(stage, call)
        }
        idle = all(program.idle.is_set() for program in stage.executors.values())
        if idle and all(deadline + _SETTLE_MARGIN_S < time.time() for deadline in undecided.values()):
            return
        await asyncio.sleep(_POLL_S)


async def _is_stored(stage: Stage, call: str) -> bool:
    subjects = stage.admin.subjects
    results = JetStreamKeyValue(stage.admin, subjects.result_bucket())
    try:
        return await results.get(subjects.call_key(POOL, call)) is not None
    except BrokerError:
        return False  # asked again a little later


async def _all_up(stage: Stage) -> None:
    for program in stage.programs.values():
        # One that was told to stop at a step may just have done so, also while it was to end.
        program.say("let")
        program.signal(signal.SIGCONT)
        if not program.alive:
            program.kill()
            await program.gone()
            await program.start()


@asynccontextmanager
async def _progress(stage: Stage, sightings: Sightings, coverage: Coverage, began: float) -> AsyncIterator[None]:
    async def tell() -> None:
        while True:
            await asyncio.sleep(_PROGRESS_S)
            sightings.look()
            up = sum(program.alive for program in stage.programs.values())
            sys.stderr.write(
                f"chaos: {time.time() - began:.0f} s: {sightings.accepted} accepted, {len(sightings.ended)} ended, "
                f"{sightings.succeeded} succeeded; {coverage.hits.total()} stops at steps, {coverage.least} at the "
                f"rarest; {up} of {len(stage.programs)} processes up\n"
            )

    task = asyncio.create_task(tell())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})
