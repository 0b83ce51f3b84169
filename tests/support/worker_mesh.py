"""A broker of its own, a worker in this process and a client, for tests of the worker from the outside."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol

from typing_extensions import TypeVar

from toolmesh_broker.embedded import EmbeddedServer, EmbeddedSettings
from toolmesh_broker.identities import Executor, Identity, Provisioner, Worker
from toolmesh_broker.jetstream.broker import connect as connect_broker
from toolmesh_broker.jetstream.layout import LayoutSettings
from toolmesh_broker.settings import ConnectionSettings
from toolmesh_client import Client, ClientSettings
from toolmesh_client import connect as connect_client
from toolmesh_contracts.call_steps import CallObserver, observe_nothing
from toolmesh_contracts.manifest import load_manifest
from toolmesh_contracts.tool_places import sort_places
from toolmesh_contracts.vessel import load_vessel
from toolmesh_contracts.worker_config import WorkerConfig
from toolmesh_identity.development import DevelopmentIssuer
from toolmesh_runtime.app import running_worker
from toolmesh_runtime.toolsets.locate import find_manifests
from toolmesh_telemetry.redaction import Redactor

NAMESPACE = "test"
POOL = "default"


class MeshServer(Protocol):
    """A broker, and how to connect to it."""

    @property
    def url(self) -> str:
        """Where it listens, as a `broker:` configuration takes it."""

    def connection(self, identity: Identity) -> ConnectionSettings:
        """How to connect as `identity`."""


Server = TypeVar("Server", bound=MeshServer, default=EmbeddedServer)


@dataclass
class WorkerMesh(Generic[Server]):
    """What runs, and how to reach it."""

    server: Server
    issuer: DevelopmentIssuer
    client: Client
    folder: Path

    def worker_config(self, worker_id: str, toolsets: Sequence[Path], **changes: object) -> WorkerConfig:
        """The configuration of one more worker."""
        pool = str(changes.get("pool", POOL))
        seed = self.server.connection(Worker(pool, worker_id)).nkey_seed_file
        document = {
            "namespace": NAMESPACE,
            "pool": pool,
            "worker_id": worker_id,
            "broker": {"url": self.server.url, "nkey_seed_file": str(seed)},
            "toolsets": [str(path) for path in toolsets],
            "keys": {
                "issuer": str(self.issuer.issuer_public_file),
                "executors": str(self.issuer.executor_public_file),
                "sealing": str(self.issuer.sealing_key_file(pool)),
            },
            "health": {"port": 0},
            "drain_seconds": 5,
            **changes,
        }
        return WorkerConfig.model_validate(document)


@asynccontextmanager
async def broker_and_client(
    folder: Path,
    *,
    workers: Sequence[str] = ("worker-1",),
    strangers: Sequence[Worker] = (),
    executors: Sequence[str] = (),
    scopes: tuple[str, ...] = ("*",),
) -> AsyncIterator[WorkerMesh]:
    """Run an embedded broker, provisioned, and a client whose tokens hold `scopes`.

    Strangers are workers of other pools; `executors` may connect beside the client.
    """
    members: tuple[Identity, ...] = (*(Worker(POOL, name) for name in workers), *strangers)
    identities: tuple[Identity, ...] = (Provisioner(), *map(Executor, ("client", *executors)), *members)
    pools = (POOL, *sorted({stranger.pool for stranger in strangers}))
    settings = EmbeddedSettings(data_folder=folder / "data", namespace=NAMESPACE, pools=pools, identities=identities)
    async with EmbeddedServer.start(settings) as server, client_of(server, folder, pools=pools, scopes=scopes) as mesh:
        yield mesh


@asynccontextmanager
async def client_of(
    server: Server,
    folder: Path,
    *,
    pools: Sequence[str] = (POOL,),
    scopes: tuple[str, ...] = ("*",),
    layout: LayoutSettings | None = None,
    executor: str = "client",
) -> AsyncIterator[WorkerMesh[Server]]:
    """Provision a broker that runs, and connect a client to it; both as identities that it knows."""
    issuer = DevelopmentIssuer.create_or_load(folder / "keys")

    async def token() -> str:
        return issuer.token("ada", scopes, audience=NAMESPACE, agent="tester")

    settings = ClientSettings(
        executor=executor,
        connection=server.connection(Executor(executor)),
        signing_key=issuer.executor_key(),
        tokens=token,
        sealing_keys={POOL: issuer.sealing_public_key(POOL)},
    )
    async with (
        connect_broker(server.connection(Provisioner())) as admin,
        admin.provisioned(pools, layout),
        connect_client(settings) as client,
    ):
        yield WorkerMesh(server, issuer, client, folder)


@asynccontextmanager
async def worker_in_process(
    mesh: WorkerMesh[Server],
    toolsets: Sequence[Path],
    *,
    worker_id: str = "worker-1",
    served: int | None = None,
    observer: CallObserver = observe_nothing,
    **changes: object,
) -> AsyncIterator[None]:
    """Run a worker in this process; at the end of the block it drains.

    `served` says how many tools to wait for, where not all of the files' are served. `observer` sees each call's steps.
    """
    config = mesh.worker_config(worker_id, toolsets, **changes)
    stop = asyncio.Event()
    async with running_worker(config, mesh.folder, Redactor(), observer) as worker, asyncio.TaskGroup() as group:
        running = group.create_task(worker.run(stop))
        try:
            await served_by(mesh, worker_id, toolsets, served)
            yield
        finally:
            stop.set()
            await asyncio.wait({running})


async def served_by(
    mesh: WorkerMesh[Server], worker_id: str, toolsets: Sequence[Path], served: int | None = None
) -> None:
    """Wait until the client's catalog has all tools of a worker."""
    places = sort_places(toolsets)
    expected = sum(len(load_manifest(path).tools) for path in find_manifests(places.toolsets))
    expected += sum(len(load_vessel(folder).tools) for folder in places.agents)
    wanted = expected if served is None else served
    async with asyncio.timeout(60):
        await mesh.client.catalog.wait_until(
            lambda view: sum(worker_id in tool.workers for tool in view.tools()) >= wanted
        )
