"""How long honest calls take beside hostile ones, compared with beside well-behaved ones that use the CPU as much.

One worker with 16 slots. 8 of them are always held by neighbours, the other 8 serve honest calls. Both sides of the
comparison take turns in one run, so that other load on the machine weighs on both.
"""

import argparse
import asyncio
import itertools
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.load.hostile_toolset import write_hostile_toolset
from tests.support.sandboxes import throwaway_base
from tests.support.worker_mesh import broker_and_client
from tests.support.worker_process import worker_process

from toolmesh_client import Client
from toolmesh_sandbox.process_tree import descendants

SLOTS = 16
NEIGHBOURS = 8
WALL_CLOCK_S = 5.0
ROUNDS = 4
MOST = 2.0
"""The promise: beside hostile neighbours at most this many times as long."""
_UIDS = 4096

_BUSY = "import time\nstop = time.monotonic() + 4\nwhile time.monotonic() < stop: sum(range(10000))\nopen(RESULT, 'w').write('{\"result\": 1}')"
_FORK_BOMB = """
import os
while True:
    try: os.fork()
    except OSError: pass"""
_MEMORY_EATER = """
held = []
while True:
    try:
        piece = bytearray(16 << 20); piece[::4096] = b"x" * len(piece[::4096]); held.append(piece)
    except MemoryError: held.clear()"""
_DISK_FILLER = """
import itertools
for number in itertools.count():
    try:
        with open(f"{OUTPUT}/{number}", "wb") as file:
            for _ in range(16): file.write(bytes(1 << 20))
    except OSError: pass"""
_FILE_MAKER = """
import itertools, os
for number in itertools.count():
    try: open(f"{number}", "w").close()
    except OSError: pass"""
_FLOODER = """
import os
while True: os.write(1, b"x" * 65536); os.write(2, b"y" * 65536)"""
_STATUS_FLOODER = """
import os
pipe = os.open(STATUS, os.O_WRONLY)
while True: os.write(pipe, b'{"status": "busy"}\\n' * 100)"""
HOSTILE = (
    ("hostile_standard", _FORK_BOMB),
    ("hostile_standard", _MEMORY_EATER),
    ("hostile_standard", _DISK_FILLER),
    ("hostile_standard", _FLOODER),
    ("hostile_restrictive", _STATUS_FLOODER),
    ("hostile_permissive", _FORK_BOMB),
    ("hostile_declared", _FORK_BOMB),
    ("hostile_restrictive", _FILE_MAKER),
)


@dataclass
class Timings:
    """Seconds that honest calls took, and what went wrong with them."""

    seconds: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    @property
    def p95_ms(self) -> float:
        """The 95th percentile."""
        return statistics.quantiles(self.seconds, n=20)[-1] * 1000


@asynccontextmanager
async def _client() -> AsyncIterator[tuple[Client, int]]:
    async with AsyncExitStack() as stack:
        base = stack.enter_context(throwaway_base())
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="toolmesh-neighbours-")))
        places = write_hostile_toolset(folder, WALL_CLOCK_S)
        mesh = await stack.enter_async_context(broker_and_client(folder))
        sandbox = {"work_folder": str(base), "uid_base": 1_000_000 + _UIDS * os.getpid()}
        worker = await stack.enter_async_context(worker_process(mesh, places, sandbox=sandbox, concurrency=SLOTS))
        yield mesh.client, worker.pid


async def _idle(worker: int) -> None:
    """Wait until nothing but the spawner is left below the worker: no side pays for what the other has left."""
    async with asyncio.timeout(60):
        while len(list(descendants(worker))) > 1:
            await asyncio.sleep(0.05)


@asynccontextmanager
async def _neighbours(client: Client, kinds: Sequence[tuple[str, str]]) -> AsyncIterator[None]:
    """Hold 8 slots for as long as the block lasts: a call that ends is followed by another at once."""

    async def hold(tool: str, code: str) -> None:
        while True:
            await client.call(tool, json.dumps({"blocks": [code]}).encode())

    async with asyncio.TaskGroup() as group:
        held = [
            group.create_task(hold(tool, code)) for tool, code in itertools.islice(itertools.cycle(kinds), NEIGHBOURS)
        ]
        await asyncio.sleep(1)  # until they are at work
        yield
        for task in held:
            task.cancel()


async def _honest(client: Client, count: int, timings: Timings) -> None:
    numbers = iter(range(count))

    async def one_after_another() -> None:
        for number in numbers:
            started = time.monotonic()
            result = await client.call("typed", {"text": "honest", "number": number})
            timings.seconds.append(time.monotonic() - started)
            if not result.ok or result.data["number"] != number:
                timings.failures.append(result.text())

    async with asyncio.TaskGroup() as group:
        for _ in range(SLOTS - NEIGHBOURS):
            group.create_task(one_after_another())


async def compare(calls: int) -> tuple[Timings, Timings]:
    """Timings of honest calls beside well-behaved and beside hostile neighbours."""
    behaved, hostile = Timings(), Timings()
    async with _client() as (client, worker):
        await _honest(client, SLOTS, Timings())
        for round_number in range(ROUNDS):
            for kinds, timings in (([("hostile_standard", _BUSY)], behaved), (HOSTILE, hostile)):
                async with _neighbours(client, kinds):
                    await _honest(client, calls // ROUNDS, timings)
                await _idle(worker)
            print(f"round {round_number + 1}: p95 {behaved.p95_ms:.0f} ms and {hostile.p95_ms:.0f} ms", file=sys.stderr)
    return behaved, hostile


def main() -> int:
    """Print both p95s and their ratio; 0 when every honest call succeeded and the promise held."""
    parser = argparse.ArgumentParser(prog="hostile-neighbours", description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=500)
    behaved, hostile = asyncio.run(compare(parser.parse_args().calls))
    ratio = hostile.p95_ms / behaved.p95_ms
    failures = behaved.failures + hostile.failures
    for failure in failures[:10]:
        print(f"failed: {failure[:300]}")
    print(f"p95 beside well-behaved neighbours: {behaved.p95_ms:.0f} ms")
    print(f"p95 beside hostile neighbours: {hostile.p95_ms:.0f} ms")
    print(f"hostile-neighbours: {len(hostile.seconds)} calls, {len(hostile.failures)} failed, ratio {ratio:.2f}")
    return 1 if failures or ratio > MOST else 0


if __name__ == "__main__":
    sys.exit(main())
