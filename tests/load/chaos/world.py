"""Where a run takes place: the broker's nodes, the machines of all processes with their cables, and the broker's disk."""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.bounded_disk import BoundedDisk, bounded_disk
from tests.support.broker_cluster import BrokerCluster, ClusterNode, ClusterSettings, NodePlace, broker_cluster
from tests.support.network_namespaces import Machine, Network, network

from toolmesh_broker.identities import Identity
from toolmesh_broker.settings import ConnectionSettings

__all__ = ["World", "open_world"]

_DISK_MIB = 512
_DIRECTOR = "director"


@dataclass(frozen=True)
class World:
    """What is there before any worker or executor.

    Attributes:
        cluster: The broker.
        net: Machines with cables; None where this process may not make them: then nothing is cut.
        disk: That of the only node's store; None where it can't be filled.
    """

    cluster: BrokerCluster
    net: Network | None
    disk: BoundedDisk | None

    def connection(self, identity: Identity) -> ConnectionSettings:
        """Return how to connect as `identity`."""
        return self.cluster.connection(identity)

    def machine(self, name: str) -> Machine | None:
        """Return the machine of a program; None where all share this one."""
        return None if self.net is None else self.net[name]

    async def cut(self, name: str) -> None:
        """Pull a program's cable."""
        assert self.net is not None
        await asyncio.to_thread(self.net.cut, name)

    async def heal(self, name: str) -> None:
        """Plug it in again."""
        assert self.net is not None
        await asyncio.to_thread(self.net.heal, name)

    async def restart(self, node: ClusterNode) -> None:
        """Start a node, ended or not, and wait until it has caught up."""
        await node.kill()
        await node.start()
        await self.cluster.until_current()


@asynccontextmanager
async def open_world(
    folder: Path, namespace: str, nodes: int, identities: tuple[Identity, ...], programs: Sequence[str]
) -> AsyncIterator[World]:
    """Start the broker. As root every process is on a machine of its own, this one included, and one node has a small disk."""
    async with AsyncExitStack() as stack:
        net = disk = None
        places = [NodePlace() for _ in range(nodes)]
        if os.geteuid() == 0 and shutil.which("ip") is not None:
            names = [f"node-{number + 1}" for number in range(nodes)]
            net = stack.enter_context(network(_DIRECTOR, *names, *programs))
            places = [NodePlace(address=net[name].address, prefix=net[name].prefix) for name in names]
            stack.enter_context(net[_DIRECTOR].entered())
            if nodes == 1:
                disk = stack.enter_context(bounded_disk(folder.with_name(f"{folder.name}-disk"), _DISK_MIB))
                place = places[0]
                places = [NodePlace(address=place.address, prefix=place.prefix, store=disk.folder / "store")]
        settings = ClusterSettings(identities=identities, places=tuple(places), namespace=namespace)
        yield World(await stack.enter_async_context(broker_cluster(folder, settings)), net, disk)
