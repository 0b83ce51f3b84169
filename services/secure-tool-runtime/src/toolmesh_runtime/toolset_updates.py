"""Keeps the catalog in step with the toolset folders."""

import asyncio
import hashlib
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolmesh_broker.catalog import CatalogPublisher
from toolmesh_contracts.envelopes.catalog import ToolProblem
from toolmesh_contracts.errors import ToolmeshError
from toolmesh_runtime.metrics import WorkerMetrics
from toolmesh_runtime.toolsets.discovery import Discovery
from toolmesh_runtime.toolsets.inventory_changes import changes_between
from toolmesh_runtime.toolsets.loaded_tool import Inventory
from toolmesh_telemetry.logs import get_logger

__all__ = ["ToolsetUpdates"]

_log: Final = get_logger(__name__)
_POLL_S: Final = 1.0
_SETTLE_S: Final = 0.25
"""Files that don't change for this long are taken to be whole."""
_PATIENCE_S: Final = 10.0
"""Files that never settle are read as they are after this long."""
_MAX_ENTRIES: Final = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolsetUpdates:
    """Reads the folders again when a file in them changes or a schema is too old, and now and then in any case."""

    pool: str
    worker: str
    discovery: Discovery
    publisher: CatalogPublisher
    metrics: WorkerMetrics
    reconcile_s: float

    def publish(self) -> None:
        """Say in the catalog what is served."""
        inventory = self.discovery.inventory
        self.publisher.set(tool.entry(self.pool, self.worker) for tool in inventory.tools.values())
        self.metrics.tools.set(len(inventory.tools))
        self.metrics.problems.set(len(inventory.problems))

    async def follow(self) -> None:
        """Go on until cancelled."""
        seen = b""
        next_reading = time.monotonic() + self.reconcile_s
        while True:
            # The first round reads everything again: a change since the first reading could have gone unseen.
            now = await asyncio.to_thread(self.fingerprint)
            if now == seen and time.monotonic() < min(next_reading, self.discovery.schema_due_at()):
                await asyncio.sleep(_POLL_S)
                continue
            seen = await self._update(now, time.monotonic() + _PATIENCE_S)
            next_reading = time.monotonic() + self.reconcile_s
            await asyncio.sleep(_SETTLE_S)

    async def _update(self, seen: bytes, patient_until: float) -> bytes:
        """Serve what the folders hold once they are at rest; return their fingerprint.

        An editor truncates a file and then writes it, or moves another one into its place; a deployment copies file by
        file. So nothing is served that was read while files changed.
        """
        while True:
            seen = await self._settled(seen, patient_until)
            before = self.discovery.inventory
            try:
                inventory = await self.discovery.read_again()
            except ToolmeshError as error:
                _log.error("toolsets can't be read, the former ones stay", reason=str(error))
                inventory = Inventory(before.tools, (_problem(error),))
            now = await asyncio.to_thread(self.fingerprint)
            if now == seen or time.monotonic() > patient_until:
                break
            seen = now
        self.discovery.adopt(inventory)
        self.publish()
        for change in changes_between(before, inventory):
            _log.info("toolset change", change=change)
        return seen

    async def _settled(self, seen: bytes, patient_until: float) -> bytes:
        while time.monotonic() < patient_until:
            await asyncio.sleep(_SETTLE_S)
            now = await asyncio.to_thread(self.fingerprint)
            if now == seen:
                break
            seen = now
        return seen

    def fingerprint(self) -> bytes:
        """Digest names, sizes, times and identities of all files that a reading looks at."""
        digest = hashlib.sha256()
        for number, (path, found) in enumerate(_files(self.discovery.folders())):
            if number > _MAX_ENTRIES:
                break
            # A file moved into another's place may have its size and time of change.
            seen = (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_mode, found.st_ino)
            digest.update(f"{path}\0{seen}\0".encode(errors="replace"))
        return digest.digest()


def _problem(error: ToolmeshError) -> ToolProblem:
    return ToolProblem(source="toolsets", tool="", code=error.code, message=str(error))


def _files(folders: Iterable[Path]) -> Iterable[tuple[str, os.stat_result]]:
    for top in sorted(folders):
        for folder, names, files in os.walk(top):
            names[:] = sorted(name for name in names if name not in {"__pycache__", ".git"})
            for name in (*names, *sorted(files)):
                path = os.path.join(folder, name)  # noqa: PTH118 - thousands of them, every second
                try:
                    yield path, os.lstat(path)
                except OSError:
                    continue
