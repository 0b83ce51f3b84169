"""One or three real nats-servers with the product's own configuration, each of which can be killed and come back.

The accounts, keys and permissions are those of the embedded server. What is added here is what the product leaves to
whoever runs a cluster: server names, routes, and addresses other than loopback where nodes are machines of a test.
"""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.health_pages import fetch
from tests.support.nats_process import NatsProcess

from toolmesh_broker.credentials import load_or_create_nkey
from toolmesh_broker.embedded.config_file import Durability, ServerConfig, render_config
from toolmesh_broker.identities import Identity, Provisioner, Worker
from toolmesh_broker.settings import ConnectionSettings
from toolmesh_contracts.subjects import Subjects

_LOOPBACK = "127.0.0.1"
_CLUSTER = "toolmesh-test"
_CURRENT_DEADLINE_S = 60.0
_HEALTHY = 200
_LOOK_S = 0.25
_STREAMS = "/jsz?accounts=true&streams=true&consumers=true"
_FIRST_CLIENT_PORT = 4222
_FIRST_ROUTE_PORT = 6222
_FIRST_MONITOR_PORT = 8222


@dataclass(frozen=True, kw_only=True)
class NodePlace:
    """Where one node runs.

    Attributes:
        address: On which it listens.
        prefix: What its command line begins with, such as that of a `Machine`.
        store: Where its streams are; None: below the cluster's folder.
    """

    address: str = _LOOPBACK
    prefix: tuple[str, ...] = ()
    store: Path | None = None


@dataclass(frozen=True, kw_only=True)
class ClusterSettings:
    """What a cluster is made for.

    Attributes:
        identities: Who will connect, besides the provisioner.
        places: One for each node.
        namespace: Of its subjects.
        pools: Those of the workers among `identities` are added.
        durability: Of each node.
        max_store_bytes: Of each node.
        secured: Whether everyone needs a key; otherwise all may do all, as on a server without accounts.
    """

    identities: tuple[Identity, ...] = ()
    places: tuple[NodePlace, ...] = (NodePlace(), NodePlace(), NodePlace())
    namespace: str = "test"
    pools: tuple[str, ...] = ()
    durability: Durability = Durability.FAST
    max_store_bytes: int = 16 * 1024**3
    secured: bool = True


@dataclass(frozen=True)
class _Ports:
    client: int
    route: int
    monitor: int


class ClusterNode(NatsProcess):
    """One server; it has the same address and store whenever it is started."""

    def __init__(self, name: str, folder: Path, place: NodePlace, ports: _Ports, config: Mapping[str, Any]) -> None:
        super().__init__(folder, place.prefix)
        self.name = name
        self.url = f"nats://{place.address}:{ports.client}"
        self._address = place.address
        self._monitor_port = ports.monitor
        self._config = folder / "nats-server.conf"
        folder.mkdir(parents=True)
        self._config.write_text(json.dumps({**config, "ports_file_dir": str(self.ports)}, indent=2))

    async def start(self) -> None:
        """Start it and wait until it listens; `BrokerCluster.until_current` waits for its streams."""
        await self.launch(self._config)

    async def monitored(self, page: str) -> tuple[int, Any]:
        """Return the status and the document of one of its monitoring pages; status 0 if it doesn't answer."""
        try:
            async with asyncio.timeout(2):
                status, text = await fetch(self._monitor_port, page, host=self._address, version="1.0")
            return status, json.loads(text)
        except (OSError, TimeoutError, ValueError, IndexError):
            return 0, None


class BrokerCluster:
    """Nodes of one broker, and how to connect to it. Make it with `broker_cluster`."""

    def __init__(self, nodes: Sequence[ClusterNode], settings: ClusterSettings, seeds: Mapping[Identity, Path]) -> None:
        self.nodes = tuple(nodes)
        self._settings = settings
        self._seeds = seeds

    @property
    def urls(self) -> tuple[str, ...]:
        """Where the nodes listen, whether they run or not."""
        return tuple(node.url for node in self.nodes)

    @property
    def url(self) -> str:
        """The same as a `broker:` configuration takes it."""
        return ",".join(self.urls)

    def connection(self, identity: Identity) -> ConnectionSettings:
        """Return how to connect as one of the cluster's identities."""
        return ConnectionSettings(
            servers=self.urls,
            namespace=self._settings.namespace,
            identity=identity.name,
            nkey_seed_file=self._seeds[identity],
        )

    async def until_current(self) -> None:
        """Wait until all nodes that run have caught up and every stream and consumer on them has a leader."""
        running = [node for node in self.nodes if node.running]
        try:
            async with asyncio.timeout(_CURRENT_DEADLINE_S):
                for node in running:
                    while not await _is_current(node, alone=len(self.nodes) == 1):
                        await asyncio.sleep(_LOOK_S)
        except TimeoutError:
            said = "\n".join(f"== {node.name}\n{node.log.read_text(errors='replace')[-2000:]}" for node in self.nodes)
            raise AssertionError(f"not current within {_CURRENT_DEADLINE_S} s:\n{said}") from None

    async def leader_of(self, stream: str) -> ClusterNode:
        """Return the node that leads a stream; waits for an election."""
        async with asyncio.timeout(_CURRENT_DEADLINE_S):
            while True:
                for node in self.nodes:
                    leader = (await _leaders(node)).get(stream)
                    if leader and (found := self._named(leader)).running:
                        return found
                await asyncio.sleep(_LOOK_S)

    def _named(self, name: str) -> ClusterNode:
        return next(node for node in self.nodes if node.name == name)


@asynccontextmanager
async def broker_cluster(folder: Path, settings: ClusterSettings) -> AsyncIterator[BrokerCluster]:
    """Start all nodes, each with its files below `folder`; killed at the end, also those that are paused."""
    identities = sorted({Provisioner(), *settings.identities}, key=lambda one: one.name)
    credentials = folder / "credentials"
    credentials.mkdir(mode=0o700, parents=True)
    seeds = {one: credentials / f"{one.name}.nk" for one in identities}
    keys = {one: load_or_create_nkey(seed).public for one, seed in seeds.items()}
    with ExitStack() as reserved:
        ports = [reserved.enter_context(_ports(place, index)) for index, place in enumerate(settings.places)]
        nodes = [
            ClusterNode(
                f"node-{index + 1}",
                folder / f"node-{index + 1}",
                place,
                ports[index],
                _config(settings, keys, folder, ports, index),
            )
            for index, place in enumerate(settings.places)
        ]
        cluster = BrokerCluster(nodes, settings, seeds)
        try:
            async with asyncio.TaskGroup() as starting:
                for node in nodes:
                    starting.create_task(node.start())
            await cluster.until_current()
            yield cluster
        finally:
            for node in nodes:
                await node.kill()  # an orderly stop would first sync a store that nobody reads again


def _config(
    settings: ClusterSettings, keys: Mapping[Identity, str], folder: Path, ports: Sequence[_Ports], index: int
) -> dict[str, Any]:
    place, own = settings.places[index], folder / f"node-{index + 1}"
    workers = (one.pool for one in keys if isinstance(one, Worker))
    product = ServerConfig(
        subjects=Subjects(settings.namespace),
        pools=tuple(sorted({*settings.pools, *workers})),
        keys=keys,
        store_folder=place.store or own / "store",
        ports_folder=own / "ports",
        log_file=own / "server.log",
        port=ports[index].client,
        max_store_bytes=settings.max_store_bytes,
        durability=settings.durability,
    )
    config: dict[str, Any] = json.loads(render_config(product))
    config |= {
        "server_name": f"node-{index + 1}",
        "listen": f"{place.address}:{ports[index].client}",
        "http": f"{place.address}:{ports[index].monitor}",
    }
    if not settings.secured:
        del config["accounts"]
    if len(settings.places) > 1:
        config["cluster"] = {
            "name": _CLUSTER,
            "listen": f"{place.address}:{ports[index].route}",
            "routes": [
                f"nats-route://{one.address}:{each.route}" for one, each in zip(settings.places, ports, strict=True)
            ],
        }
    return config


@contextmanager
def _ports(place: NodePlace, index: int) -> Iterator[_Ports]:
    """Ports that stay the node's while it is down: on a machine of its own any, here some that nobody else gets."""
    if place.address != _LOOPBACK:
        yield _Ports(_FIRST_CLIENT_PORT + index, _FIRST_ROUTE_PORT + index, _FIRST_MONITOR_PORT + index)
        return
    with ExitStack() as held:
        yield _Ports(*(held.enter_context(_held_port()) for _ in range(3)))


@contextmanager
def _held_port() -> Iterator[int]:
    # Bound, but not listening: the kernel gives it to nobody, and a server that also sets SO_REUSEADDR may listen.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind((_LOOPBACK, 0))
        yield holder.getsockname()[1]


async def _is_current(node: ClusterNode, *, alone: bool) -> bool:
    status, _ = await node.monitored("/healthz")
    if status != _HEALTHY or alone:
        return status == _HEALTHY
    return all((await _leaders(node)).values())


async def _leaders(node: ClusterNode) -> dict[str, str]:
    """The leader of each stream and consumer that a node holds a replica of; empty for one that has none."""
    _, document = await node.monitored(_STREAMS)
    found = {}
    for account in (document or {}).get("account_details") or ():
        for stream in account.get("stream_detail") or ():
            found[stream["name"]] = (stream.get("cluster") or {}).get("leader", "")
            for consumer in stream.get("consumer_detail") or ():
                name = f"{stream['name']}.{consumer['name']}"
                found[name] = (consumer.get("cluster") or {}).get("leader", "")
    return found
