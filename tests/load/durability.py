"""Measures what the ways to keep a call cost: one server, one that syncs every write, and three servers.

`python -m tests.load.durability [CALLS]` prints each as a ratio to the first, which tells more than figures of one machine.
"""

import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support.broker_cluster import ClusterSettings, NodePlace, broker_cluster
from tests.support.brokers import POOL, outgoing

from toolmesh_broker.embedded.config_file import Durability
from toolmesh_broker.jetstream.broker import connect
from toolmesh_broker.jetstream.layout import LayoutSettings
from toolmesh_broker.ports import Broker
from toolmesh_broker.settings import ConnectionSettings

_AT_ONCE = 64
_BODY = b'"' + b"x" * 1022 + b'"'
_WARM_UP = 100
_ROUNDS = 3
_NAMESPACE = "contract"


@dataclass(frozen=True, kw_only=True)
class Profile:
    """One way to keep calls."""

    name: str
    durability: Durability = Durability.FAST
    servers: int = 1


PROFILES = (
    Profile(name="fast"),
    Profile(name="durable: one server, every write synced", durability=Durability.DURABLE),
    Profile(name="durable: three servers", servers=3),
    Profile(name="three servers, every write synced", durability=Durability.DURABLE, servers=3),
)


@dataclass(frozen=True)
class Cost:
    """Of one profile.

    Attributes:
        wait_s: Median time until one call is kept, one after the other.
        rate: Calls kept in a second, many at once.
    """

    wait_s: float
    rate: float

    def better_of(self, other: "Cost") -> "Cost":
        """What others on the machine have disturbed least."""
        return Cost(min(self.wait_s, other.wait_s), max(self.rate, other.rate))


async def measure(profile: Profile, folder: Path, calls: int) -> Cost:
    """Publish `calls` calls of 1 KB one after the other, and ten times as many at once."""
    places = (NodePlace(),) * profile.servers
    settings = ClusterSettings(secured=False, places=places, durability=profile.durability, namespace=_NAMESPACE)
    async with broker_cluster(folder, settings) as cluster:
        connection = ConnectionSettings(servers=cluster.urls, namespace=_NAMESPACE, identity="measuring")
        layout = LayoutSettings(replicas=profile.servers, max_queued_per_tenant=1_000_000)
        async with connect(connection) as broker, broker.provisioned([POOL], layout):
            await cluster.until_current()
            await _one_by_one(broker, _WARM_UP)
            waits = await _one_by_one(broker, calls)
            started = time.monotonic()
            await _at_once(broker, 10 * calls)
            return Cost(statistics.median(waits), 10 * calls / (time.monotonic() - started))


async def _one_by_one(broker: Broker, calls: int) -> list[float]:
    waits = []
    for _ in range(calls):
        started = time.monotonic()
        await broker.publish_invocation(outgoing(_BODY, seconds=3600))
        waits.append(time.monotonic() - started)
    return waits


async def _at_once(broker: Broker, calls: int) -> None:
    left = iter(range(calls))

    async def publish() -> None:
        for _ in left:
            await broker.publish_invocation(outgoing(_BODY, seconds=3600))

    async with asyncio.TaskGroup() as group:
        for _ in range(_AT_ONCE):
            group.create_task(publish())


def report(costs: dict[Profile, Cost]) -> Iterator[str]:
    """What to print."""
    base = costs[PROFILES[0]]
    for profile, cost in costs.items():
        yield (
            f"{profile.name:<42} a call is kept after {cost.wait_s * 1000:6.2f} ms, {cost.wait_s / base.wait_s:4.1f} x; "
            f"{cost.rate:7.0f} calls a second, {base.rate / cost.rate:4.1f} x fewer"
        )


def main() -> int:
    """Measure all, and report."""
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    costs: dict[Profile, Cost] = {}
    # Not below /tmp, which may lie in memory, where syncing costs nothing.
    with tempfile.TemporaryDirectory(prefix="toolmesh-durability-", dir="/var/tmp") as folder:
        for number, profile in enumerate(PROFILES * _ROUNDS):
            cost = asyncio.run(measure(profile, Path(folder) / str(number), calls))
            costs[profile] = cost.better_of(costs.get(profile, cost))
    print("\n".join(report(costs)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
