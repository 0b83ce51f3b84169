"""Keeps the catalog in step with the toolset folders."""

import asyncio
import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolmesh_broker.catalog import CatalogPublisher
from toolmesh_contracts.errors import ToolmeshError
from toolmesh_runtime.metrics import WorkerMetrics
from toolmesh_runtime.toolsets.discovery import Discovery
from toolmesh_telemetry.logs import get_logger

__all__ = ["ToolsetUpdates"]

_log: Final = get_logger(__name__)
_POLL_S: Final = 1.0
_MAX_ENTRIES: Final = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolsetUpdates:
    """Reads the folders again when a file in them changes, and from time to time in any case."""

    pool: str
    worker: str
    discovery: Discovery
    publisher: CatalogPublisher
    metrics: WorkerMetrics
    reconcile_s: float

    def publish(self) -> None:
        """Say in the catalog what the last reading gave."""
        inventory = self.discovery.inventory
        self.publisher.set(tool.entry(self.pool, self.worker) for tool in inventory.tools.values())
        self.metrics.tools.set(len(inventory.tools))
        self.metrics.problems.set(len(inventory.problems))

    async def follow(self) -> None:
        """Go on until cancelled."""
        loop = asyncio.get_running_loop()
        seen = b""
        next_reading = loop.time() + self.reconcile_s
        while True:
            # The first round reads everything again: a change since the first reading could have gone unseen.
            now = await asyncio.to_thread(self.fingerprint)
            if now == seen and loop.time() < next_reading:
                await asyncio.sleep(_POLL_S)
                continue
            changed, seen = now != seen, now
            next_reading = loop.time() + self.reconcile_s
            before = self.discovery.inventory
            try:
                inventory = await self.discovery.read()
            except ToolmeshError as error:
                # A folder that is half written now: what was served before goes on.
                _log.error("toolsets can't be read, the former ones stay", reason=str(error))
                continue
            self.publish()
            if changed and inventory != before:
                _log.info("toolsets read again", tools=len(inventory.tools), problems=len(inventory.problems))

    def fingerprint(self) -> bytes:
        """Digest names, sizes and times of all files that a reading looks at."""
        digest = hashlib.sha256()
        for number, (path, found) in enumerate(_files(self.discovery.folders())):
            if number > _MAX_ENTRIES:
                break
            digest.update(f"{path}\0{found.st_mtime_ns}\0{found.st_size}\0{found.st_mode}\0".encode(errors="replace"))
        return digest.digest()


def _files(folders: Iterable[Path]) -> Iterable[tuple[str, os.stat_result]]:
    for top in folders:
        for folder, names, files in os.walk(top):
            names[:] = sorted(name for name in names if name not in {"__pycache__", ".git"})
            for name in (*names, *sorted(files)):
                path = os.path.join(folder, name)  # noqa: PTH118 - thousands of them, every second
                try:
                    yield path, os.lstat(path)
                except OSError:
                    continue
