"""Measures on a real nats-server whose turn it is: a full tenant beside a newcomer, bulk beside interactive, weights."""

import asyncio
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.brokers import POOL, Brokers, brokers_of_kind, outgoing

from toolmesh_broker.fair_turns import LANE_WEIGHTS
from toolmesh_broker.ports import Delivery, OutgoingInvocation
from toolmesh_contracts.names import Lane, shard_of, tenant_token

ROUNDS = 2
_AT_ONCE = 500
_CALL_S = 0.01
_WARM_UP = 20
_QUEUED = 100_000
_WEIGHED = 10_000


@dataclass(frozen=True)
class Fairness:
    """What was seen.

    Attributes:
        newcomer_after: Calls of the full tenant that were started before that of a tenant of another shard.
        interactive_after: Bulk calls that were started before an interactive one.
        shares: Calls of each lane, all of them full.
    """

    newcomer_after: int
    interactive_after: int
    shares: Counter[Lane]

    def problems(self) -> list[str]:
        """What is not as promised."""
        found = []
        # In a round each queue that has calls is asked once; one call more may be on its way when the newcomer comes.
        limit = ROUNDS * 2 + 1
        if self.newcomer_after > limit:
            found.append(f"another shard's call came after {self.newcomer_after} others, {limit} are allowed")
        if self.interactive_after > limit:
            found.append(f"an interactive call came after {self.interactive_after} bulk ones, {limit} are allowed")
        for lane, share in self.shares.items():
            due = due_share(lane)
            if abs(share / self.shares.total() - due) > 0.1 * due:
                found.append(f"{lane} got {share} of {self.shares.total()}, {due:.1%} are due")
        return found


def due_share(lane: Lane) -> float:
    """A lane's part of the slots while all lanes are full."""
    return LANE_WEIGHTS[lane] / sum(LANE_WEIGHTS.values())


def users_of_two_shards() -> tuple[str, str]:
    """Two users whose calls wait in different shards."""
    first = "noisy"
    shard = shard_of(tenant_token("agent", first))
    other = next(name for name in (f"quiet-{n}" for n in range(100)) if shard_of(tenant_token("agent", name)) != shard)
    return first, other


async def measure(folder: Path, queued: int, weighed: int) -> Fairness:
    """Measure everything, each on a server of its own, in the folders `newcomer`, `interactive` and `weights`."""
    noisy, quiet = users_of_two_shards()
    newcomer = await _overtakes(
        folder / "newcomer", [outgoing(user=noisy, seconds=3600) for _ in range(queued)], outgoing(user=quiet)
    )
    bulk = [outgoing(user=noisy, lane=Lane.BULK, seconds=3600) for _ in range(queued)]
    interactive = await _overtakes(folder / "interactive", bulk, outgoing(user=noisy, lane=Lane.INTERACTIVE))
    return Fairness(newcomer, interactive, await _shares(folder / "weights", weighed))


async def _overtakes(folder: Path, many: list[OutgoingInvocation], late: OutgoingInvocation) -> int:
    """Return how many of a full queue's calls a worker with one slot starts before one that comes later."""
    async with (
        _full_queue(folder, many) as brokers,
        brokers.connect("client") as client,
        brokers.connect("w") as worker,
    ):
        busy = 0
        async with worker.consume(POOL, lambda: 1 - busy) as intake:
            number = 0
            async for delivery in intake:
                busy = 1
                if delivery.subject == late.subject:
                    return number - _WARM_UP
                number += 1
                if number == _WARM_UP:
                    await client.publish_invocation(late)
                await asyncio.sleep(_CALL_S)
                busy = 0
                await delivery.ack()
    raise AssertionError("the late call never came")


async def _shares(folder: Path, count: int) -> Counter[Lane]:
    """Return how many calls of each lane are among the first `count`, where all lanes have more than they get."""
    calls = [
        outgoing(user=f"user-{number % 40}", lane=lane, seconds=3600)
        for lane in Lane
        for number in range(int(count * due_share(lane) * 1.3) + 40)
    ]
    started: Counter[Lane] = Counter()
    async with _full_queue(folder, calls) as brokers, brokers.connect("w") as worker, asyncio.TaskGroup() as group:
        busy: set[asyncio.Task[None]] = set()

        async def work(delivery: Delivery) -> None:
            await delivery.ack()

        async with worker.consume(POOL, lambda: 8 - len(busy)) as intake:
            async for delivery in intake:
                started[Lane(delivery.subject.split(".")[4])] += 1
                if started.total() == count:
                    break
                task = group.create_task(work(delivery))
                busy.add(task)
                task.add_done_callback(busy.discard)
    return started


@asynccontextmanager
async def _full_queue(folder: Path, calls: list[OutgoingInvocation]) -> AsyncIterator[Brokers]:
    async with brokers_of_kind("jetstream", folder, max_queued_per_tenant=len(calls) + 1, ack_wait_s=30) as brokers:
        async with brokers.connect("filler") as filler:
            for start in range(0, len(calls), _AT_ONCE):
                await asyncio.gather(*map(filler.publish_invocation, calls[start : start + _AT_ONCE]))
        yield brokers


def report(seen: Fairness, queued: int) -> Iterable[str]:
    """What to print."""
    yield f"{queued} calls of one tenant wait; a call of another shard's is started after {seen.newcomer_after} of them"
    yield f"{queued} bulk calls wait; an interactive one is started after {seen.interactive_after} of them"
    for lane, share in seen.shares.most_common():
        yield f"{lane:<12} {share / seen.shares.total():6.1%} of {seen.shares.total()} calls, {due_share(lane):.1%} are due"
    problems = seen.problems()
    yield from problems
    yield f"fairness: {'ok' if not problems else f'{len(problems)} promises do not hold'}"


def main(queued: int) -> int:
    """Measure, report, and return the exit code."""
    with tempfile.TemporaryDirectory(prefix="toolmesh-fairness-") as folder:
        seen = asyncio.run(measure(Path(folder), queued, _WEIGHED))
    for line in report(seen, queued):
        print(line)
    return 1 if seen.problems() else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else _QUEUED))
