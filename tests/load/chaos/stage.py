"""Sets the stage of a run: folders, keys, the broker, and the programs with their orders."""

import os
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

import msgspec
import yaml
from tests.load.chaos.executor_program import ExecutorOrder
from tests.load.chaos.forked import start_forks_parent
from tests.load.chaos.journal import Journal
from tests.load.chaos.program import Program
from tests.load.chaos.worker_program import WorkerOrder
from tests.load.chaos.world import World, open_world
from tests.support.sandboxes import throwaway_base

from toolmesh_broker.identities import Executor, Identity, Provisioner, Worker
from toolmesh_broker.jetstream.broker import JetStreamBroker
from toolmesh_broker.jetstream.connection import Connection, open_connection
from toolmesh_broker.jetstream.layout import LayoutSettings
from toolmesh_broker.settings import ConnectionSettings
from toolmesh_contracts.worker_config import WorkerConfig
from toolmesh_identity.development import DevelopmentIssuer

__all__ = ["NAMESPACE", "POOL", "Cast", "Stage", "lease_seconds", "staged"]

NAMESPACE = "chaos"
POOL = "default"
_TOOLSET = Path(__file__).parents[2] / "toolsets" / "effects"
_UIDS = 4096


@dataclass(frozen=True, kw_only=True)
class Cast:
    """How many there are, and how much each does at once."""

    workers: int = 4
    slots: int = 3
    executors: int = 3
    open_calls: int = 4
    nodes: int = 1
    worker_program: str = "tests.load.chaos.worker_program"


def lease_seconds(nodes: int) -> float:
    """Return the lease of workers, as the documentation wants it: longer than a cluster takes to choose a leader."""
    return 6.0 if nodes == 1 else 15.0


@dataclass(frozen=True)
class Stage:
    """A broker that runs and programs that do not yet.

    Attributes:
        folder: Everything of this run.
        world: The broker and what can be broken.
        admin: A connection that may see everything.
        workers: By name.
        executors: By name.
        faults: Journal of what the director does.
        effects: The file that tools write to.
    """

    folder: Path
    world: World
    admin: Connection
    workers: dict[str, Program]
    executors: dict[str, Program]
    faults: Journal
    effects: Path

    @property
    def programs(self) -> dict[str, Program]:
        """All programs."""
        return self.workers | self.executors

    @property
    def journals(self) -> dict[str, Path]:
        """Each program's journal."""
        return {name: self.folder / name / "journal.jsonl" for name in self.programs}


@asynccontextmanager
async def staged(cast: Cast, seed: int) -> AsyncIterator[Stage]:
    """Set the stage; everything is ended and removed with the block."""
    async with AsyncExitStack() as stack:
        start_forks_parent()
        # Tools reach the effects through folders that every user can pass.
        base = stack.enter_context(throwaway_base())
        folder = base / "run"
        folder.mkdir()
        effects = base / "effects"
        effects.mkdir()
        (effects / "effects.log").touch()
        (effects / "effects.log").chmod(0o666)
        issuer = DevelopmentIssuer.create_or_load(folder / "keys")
        workers = [f"worker-{number + 1}" for number in range(cast.workers)]
        executors = [f"executor-{number + 1}" for number in range(cast.executors)]
        identities: tuple[Identity, ...] = (
            Provisioner(),
            *(Worker(POOL, name) for name in workers),
            *map(Executor, executors),
        )
        world = await stack.enter_async_context(
            open_world(folder / "broker", NAMESPACE, cast.nodes, identities, (*workers, *executors))
        )
        admin = await stack.enter_async_context(open_connection(world.connection(Provisioner())))
        layout = LayoutSettings.on_servers(cast.nodes)
        await stack.enter_async_context(JetStreamBroker(admin).provisioned([POOL], layout))
        orders = _Orders(cast, seed, folder, effects, base / "sandbox", issuer, world)
        yield Stage(
            folder=folder,
            world=world,
            admin=admin,
            workers={name: orders.worker(name) for name in workers},
            executors={name: orders.executor(name) for name in executors},
            faults=Journal(folder / "faults.jsonl"),
            effects=effects / "effects.log",
        )


@dataclass(frozen=True)
class _Orders:
    cast: Cast
    seed: int
    folder: Path
    effects: Path
    base: Path
    issuer: DevelopmentIssuer
    world: World

    def worker(self, name: str) -> Program:
        """A worker that was never started."""
        own = self._own(name)
        broker = self.world.connection(Worker(POOL, name))
        config = own / "worker.yaml"
        config.write_text(yaml.safe_dump(self._config(name, broker).model_dump(mode="json", exclude_none=True)))
        order = WorkerOrder(
            config=str(config),
            journal=str(own / "journal.jsonl"),
            effects=str(self.effects),
        )
        return self._program(name, "worker", self.cast.worker_program, lambda: _written(own, order))

    def executor(self, name: str) -> Program:
        """An executor that was never started."""
        own = self._own(name)
        broker = self.world.connection(Executor(name))
        chance = Random(f"{self.seed}-{name}")  # noqa: S311

        def order() -> Path:
            return _written(
                own,
                ExecutorOrder(
                    executor=name,
                    servers=broker.servers,
                    seed_file=str(broker.nkey_seed_file),
                    namespace=NAMESPACE,
                    keys=str(self.issuer.folder),
                    pool=POOL,
                    folder=str(own),
                    seed=f"{self.seed}-{name}-{chance.random()}",
                    at_once=self.cast.open_calls,
                    resume=chance.random() < 0.5,
                ),
            )

        return self._program(name, "executor", "tests.load.chaos.executor_program", order)

    def _own(self, name: str) -> Path:
        own = self.folder / name
        own.mkdir()
        return own

    def _program(self, name: str, kind: str, module: str, order: Callable[[], Path]) -> Program:
        return Program(name, kind, module, order, self.folder / name / "stderr.log", self.world.machine(name))

    def _config(self, name: str, broker: ConnectionSettings) -> WorkerConfig:
        number = int(name.rpartition("-")[2])
        return WorkerConfig.model_validate(
            {
                "namespace": NAMESPACE,
                "pool": POOL,
                "worker_id": name,
                "broker": {"url": ",".join(broker.servers), "nkey_seed_file": str(broker.nkey_seed_file)},
                "toolsets": [str(_TOOLSET)],
                "keys": {
                    "issuer": str(self.issuer.issuer_public_file),
                    "executors": str(self.issuer.executor_public_file),
                    "sealing": str(self.issuer.sealing_key_file(POOL)),
                },
                "sandbox": {
                    "work_folder": str(self.base),
                    "uid_base": 1_000_000 + _UIDS * (os.getpid() % 100_000),
                    "uid_count": _UIDS,
                },
                "concurrency": self.cast.slots,
                "health": {"port": 0},
                "drain_seconds": 8,
                "lease_seconds": lease_seconds(self.cast.nodes),
                "max_running_per_tenant": max(2, self.cast.slots - 1) if number == 1 else None,
            }
        )


def _written(own: Path, order: msgspec.Struct) -> Path:
    path = own / "order.json"
    path.write_bytes(msgspec.json.encode(order))
    return path
