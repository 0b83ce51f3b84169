"""Processes that come back whenever they end."""

import asyncio
import contextlib
import json
import random
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Final

from tests.support.effects import IN_THE_OPEN, Effects
from tests.support.executor_process import spawned_executor
from tests.support.worker_mesh import NAMESPACE, POOL, WorkerMesh
from tests.support.worker_process import worker_process

from toolmesh_broker.identities import Executor

__all__ = ["Lives", "executor_life", "worker_life"]

_AWAY_S: Final = 1.0
_BETWEEN_S: Final = (1.5, 4.0)
_BLOWS: Final = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM)

Life = Callable[[], AbstractAsyncContextManager[asyncio.subprocess.Process]]


class Lives:
    """Keeps processes alive, and ends one of them every few seconds.

    Attributes:
        ended: How often which process was ended how.
    """

    def __init__(self, lives: dict[str, Life], seed: int) -> None:
        self._lives = lives
        self._random = random.Random(seed)  # noqa: S311 - any moment will do
        self._processes: dict[str, asyncio.subprocess.Process] = {}
        self.ended: Counter[str] = Counter()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Keep all alive inside the block."""
        async with asyncio.TaskGroup() as group:
            keeping = [group.create_task(self._keep(name, life)) for name, life in self._lives.items()]
            try:
                async with asyncio.timeout(60):
                    while len(self._processes) < len(self._lives):
                        await asyncio.sleep(0.1)
                yield
            finally:
                for each in keeping:
                    each.cancel()

    async def strike(self) -> None:
        """End one after the other, for ever."""
        while True:
            await asyncio.sleep(self._random.uniform(*_BETWEEN_S))
            name = self._random.choice(sorted(self._lives))
            blow = self._random.choice(_BLOWS)
            if (process := self._processes.get(name)) is not None:
                with contextlib.suppress(ProcessLookupError):
                    process.send_signal(blow)
                    self.ended[f"{name} {blow.name}"] += 1

    async def _keep(self, name: str, life: Life) -> None:
        while True:
            async with life() as process:
                self._processes[name] = process
                await process.wait()
                del self._processes[name]
            await asyncio.sleep(_AWAY_S)


def worker_life(mesh: WorkerMesh, name: str, effects: Effects) -> Life:
    """A worker of the tool that leaves a line for each run."""
    return lambda: worker_process(
        mesh, [effects.toolset], name, ready=False, concurrency=8, drain_seconds=1, **IN_THE_OPEN
    )


def executor_life(mesh: WorkerMesh, name: str, agents: Path) -> Life:
    """An executor of these agents."""
    document = {
        "namespace": NAMESPACE,
        "executor_id": name,
        "broker": {
            "url": mesh.server.url,
            "nkey_seed_file": str(mesh.server.connection(Executor(name)).nkey_seed_file),
        },
        "agents": [str(agents)],
        "keys": {
            "signing": str(mesh.issuer.executor_key_file),
            "issuer": str(mesh.issuer.issuer_public_file),
            "sealing": {POOL: str(mesh.issuer.sealing_public_file(POOL))},
        },
        "health": {"port": 0},
    }
    config = mesh.folder / f"{name}.yaml"
    config.write_text(json.dumps(document))

    log, environment = mesh.folder / f"{name}.log", {"PATH": "/usr/bin:/bin", "PYTHONPATH": ":".join(sys.path)}
    return lambda: spawned_executor(config, log, environment, ready=False)
