"""Starts and ends one worker again and again, half of the times by kill -9, and counts what is left of it all.

`python -m tests.load.worker_restarts [RESTARTS]`: the last line tells what was found.
"""

import asyncio
import itertools
import random
import re
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path

from tests.load.fuzz.census import Census, Territory, take_census
from tests.load.fuzz.own_cgroup import own_cgroup
from tests.support.sandboxes import throwaway_base
from tests.support.stored_messages import keys_past_their_ttl, stored_counts
from tests.support.worker_mesh import WorkerMesh, broker_and_client
from tests.support.worker_process import worker_process

from toolmesh_broker.identities import Provisioner
from toolmesh_broker.jetstream.connection import Connection, open_connection
from toolmesh_client import CallRequest, CallResult
from toolmesh_contracts.errors import ErrorCode

_ODD = Path(__file__).parents[1] / "toolsets" / "odd"
_UIDS = 256
_SETTLE_S = 60.0
"""A catalog entry of a killed worker stays for 20 s, its call is decided within 12."""
_START_S = 1.5
"""Within this time a start is killed at any moment."""
_MADE_UP = re.compile(r"\b[0-9a-f]{8,}\b|^\d+\b")
"""Names of work folders, and process ids."""
_LARGE = "x" * 400_000
"""Over the claim check: the argument lies in the payload store."""
_ALLOWED = (ErrorCode.WORKER_LOST, ErrorCode.CANCELLED)


class Ending(Enum):
    """How one life of the worker ends."""

    STOPPED_IN_A_CALL = "SIGTERM in a call"
    KILLED_IN_A_CALL = "kill -9 in a call"
    STOPPED_IDLE = "SIGTERM when idle"
    KILLED_AT_ITS_START = "kill -9 at some moment of its start"


@dataclass
class Restarts:
    """What was seen.

    Attributes:
        endings: How lives ended.
        outcomes: How calls ended.
        problems: What is left that was not there before, and calls that ended wrongly.
    """

    endings: Counter[Ending] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Ground:
    mesh: WorkerMesh
    admin: Connection
    base: Path
    uids: range
    groups: Path | None

    @asynccontextmanager
    async def worker(self, *, ready: bool = True) -> AsyncIterator[asyncio.subprocess.Process]:
        """One life of the worker; it always has the same name."""
        sandbox = {"work_folder": str(self.base), "uid_base": self.uids.start, "uid_count": len(self.uids)}
        async with worker_process(
            self.mesh, [_ODD], ready=ready, sandbox=sandbox, concurrency=4, drain_seconds=1
        ) as process:
            yield process

    async def left(self, worker: int) -> tuple[Census, Counter[str]]:
        """What this machine and the broker hold now; names that are made up anew in each life are made alike."""
        found = take_census(Territory(worker, self.base, self.uids, self.groups), 0)
        alike = replace(found, files=_alike(found.files), processes=_alike(found.processes))
        return alike, await stored_counts(self.admin)


def _alike(names: Iterable[str]) -> frozenset[str]:
    """Replace ids in names, and number those that then are the same."""
    counts = Counter(_MADE_UP.sub("*", name) for name in names)
    return frozenset(f"{name}, {number} of them" for name, times in counts.items() for number in range(1, times + 1))


async def restart(count: int) -> Restarts:
    """End `count` lives of a worker."""
    found = Restarts()
    async with _ground() as ground, asyncio.TaskGroup() as calls:
        async with ground.worker() as worker:
            await _use(ground.mesh)
            before = await ground.left(worker.pid)
        under_way: list[asyncio.Task[CallResult]] = []
        for ending in itertools.islice(itertools.cycle(Ending), count):
            await _live(ground, ending, calls, under_way)
            found.endings[ending] += 1
        async with ground.worker() as worker:
            await _use(ground.mesh)
            async with asyncio.timeout(_SETTLE_S):
                results = await asyncio.gather(*under_way)
            found.problems += await _leaks(ground, worker.pid, before)
        found.problems += await keys_past_their_ttl(ground.admin)
    for result in results:
        code = result.error.code if result.error else "ok"
        found.outcomes[code] += 1
        if result.error is not None and result.error.code not in _ALLOWED:
            found.problems.append(f"a call ended with {result.error}")
    return found


@asynccontextmanager
async def _ground() -> AsyncIterator[_Ground]:
    async with AsyncExitStack() as stack:
        groups = stack.enter_context(own_cgroup())
        base = stack.enter_context(throwaway_base())
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="toolmesh-restarts-")))
        first_uid = 3_000_000 + _UIDS * (id(folder) % 1000)
        mesh = await stack.enter_async_context(broker_and_client(folder))
        admin = await stack.enter_async_context(open_connection(mesh.server.connection(Provisioner())))
        yield _Ground(mesh, admin, base, range(first_uid, first_uid + _UIDS), groups)


async def _use(mesh: WorkerMesh) -> None:
    """Have everything made that a worker makes once, and a payload stored and removed."""
    result = await mesh.client.call("measure", {"text": _LARGE})
    assert result.ok, result.error


async def _live(
    ground: _Ground, ending: Ending, calls: asyncio.TaskGroup, under_way: list[asyncio.Task[CallResult]]
) -> None:
    async with ground.worker(ready=ending is not Ending.KILLED_AT_ITS_START) as worker:
        if ending is Ending.KILLED_AT_ITS_START:
            await asyncio.sleep(random.uniform(0, _START_S))  # noqa: S311 - any moment will do
        elif ending is Ending.STOPPED_IDLE:
            await _use(ground.mesh)
        else:
            call = await ground.mesh.client.start(CallRequest(tool="slow", arguments={"seconds": 40}))
            await anext(call.statuses())
            under_way.append(calls.create_task(call.result()))
        stopped = ending in (Ending.STOPPED_IN_A_CALL, Ending.STOPPED_IDLE)
        worker.send_signal(signal.SIGTERM if stopped else signal.SIGKILL)
        async with asyncio.timeout(30):
            await worker.wait()


async def _leaks(ground: _Ground, worker: int, before: tuple[Census, Counter[str]]) -> list[str]:
    """What is more than before once the entries of killed workers have had the time to expire."""
    census, stored = before
    clock = asyncio.get_running_loop().time
    deadline = clock() + _SETTLE_S
    while True:
        census_now, stored_now = await ground.left(worker)
        leaks = census_now.leaks_since(census)
        leaks += [f"broker: {stored_now[what]} {what}, before {stored[what]}" for what in stored_now - stored]
        if not leaks or clock() > deadline:
            return leaks
        await asyncio.sleep(0.5)


def main() -> int:
    """Run; 0 when nothing is left."""
    found = asyncio.run(restart(int(sys.argv[1]) if len(sys.argv) > 1 else 100))
    for ending, times in found.endings.items():
        print(f"{times:5} {ending.value}")
    for outcome, times in found.outcomes.items():
        print(f"{times:5} calls under way: {outcome}")
    for problem in found.problems:
        print(f"left: {problem}")
    print(f"worker-restarts: {found.endings.total()} restarts, {len(found.problems)} problems")
    return 1 if found.problems else 0


if __name__ == "__main__":
    sys.exit(main())
