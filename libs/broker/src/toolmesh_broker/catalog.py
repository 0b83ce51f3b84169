"""Which tools there are: workers keep their entries alive, everyone else watches."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass
from typing import Final

from toolmesh_broker.errors import BrokerError, BrokerTimeoutError
from toolmesh_broker.ports import Broker, Change, Deleted, Entry, InitialDone
from toolmesh_broker.task_scope import task_scope
from toolmesh_contracts.envelopes.catalog import CatalogEntry
from toolmesh_contracts.errors import ToolmeshError
from toolmesh_contracts.wire import decode, encode

__all__ = ["CatalogPublisher", "CatalogTool", "CatalogView"]

_log = logging.getLogger(__name__)

_TTL_S: Final = 20.0
_INTERVAL_S: Final = 5.0
_FAREWELL_S: Final = 3.0
_PATIENCE_S: Final = 40.0
"""For the first writing: two tries of the broker's whole time."""


class CatalogPublisher:
    """Keeps one worker's entries in the catalog for as long as it lives."""

    def __init__(self, broker: Broker, *, ttl_s: float = _TTL_S, interval_s: float = _INTERVAL_S) -> None:
        self._subjects = broker.subjects
        self._keyvalue = broker.keyvalue(broker.subjects.catalog_bucket())
        self._ttl_s = ttl_s
        self._interval_s = interval_s
        self._wanted: dict[str, bytes] = {}
        self._published: set[str] = set()
        self._changed = asyncio.Event()
        self._in_step = asyncio.Event()
        self._trouble = ""

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Publish inside the block; at its end the entries are taken away."""
        async with task_scope() as group:
            task = group.create_task(self._keep_up())
            try:
                yield
            finally:
                task.cancel()
                with contextlib.suppress(BrokerError, TimeoutError):
                    async with asyncio.timeout(_FAREWELL_S):
                        await self._remove(self._published)

    def set(self, entries: Iterable[CatalogEntry]) -> None:
        """Replace what this worker offers; entries that are no longer among them are deleted."""
        self._wanted = {
            self._subjects.catalog_key(entry.pool, entry.tool, entry.worker): encode(entry) for entry in entries
        }
        self._in_step.clear()
        self._changed.set()

    async def published(self, timeout_s: float = _PATIENCE_S) -> None:
        """Wait until the broker has what was last set.

        Raises:
            BrokerTimeoutError: it could not be written in time; the message says why.
        """
        try:
            async with asyncio.timeout(timeout_s):
                await self._in_step.wait()
        except TimeoutError:
            raise BrokerTimeoutError(
                f"the catalog can't be written since {timeout_s:g} s: {self._trouble or 'the broker is slow'}",
                hint="the namespace's streams have to be made first, as `toolmesh up --broker URL` does",
            ) from None

    async def _keep_up(self) -> None:
        while True:
            self._changed.clear()
            try:
                await self._write()
            except BrokerError as error:
                if not self._trouble:
                    _log.warning("catalog not written, trying on: %s", error)
                self._trouble = error.message
            else:
                self._trouble = ""
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._interval_s):
                    await self._changed.wait()

    async def _write(self) -> None:
        wanted = dict(self._wanted)
        for key, value in wanted.items():
            self._published.add(key)  # before: a write whose answer nobody waits for any more may have been stored
            await self._keyvalue.put(key, value, self._ttl_s)
        await self._remove(self._published - wanted.keys())
        if not self._changed.is_set():
            self._in_step.set()

    async def _remove(self, keys: Iterable[str]) -> None:
        for key in list(keys):
            await self._keyvalue.delete(key)
            self._published.discard(key)


@dataclass(frozen=True, slots=True)
class CatalogTool:
    """A tool of a pool, as all its workers offer it."""

    entry: CatalogEntry
    """Of several versions the one discovered last."""
    workers: tuple[str, ...]
    """Workers that serve this version."""
    other_versions: tuple[str, ...] = ()
    """Versions that other workers still serve."""


class CatalogView:
    """What the catalog says now, kept up to date inside `open`."""

    def __init__(self) -> None:
        self._entries: dict[str, CatalogEntry] = {}
        self._values: dict[str, bytes] = {}
        self._changed = asyncio.Condition()

    @classmethod
    @contextlib.asynccontextmanager
    async def open(cls, broker: Broker) -> AsyncIterator["CatalogView"]:
        """Watch the catalog; when the block begins, all that was there is known."""
        view = cls()
        ready = asyncio.Event()
        keyvalue = broker.keyvalue(broker.subjects.catalog_bucket())

        async def follow() -> None:
            async with keyvalue.watch() as watch:
                async for change in watch:
                    if isinstance(change, InitialDone):
                        ready.set()
                    await view._take_in(broker, change)

        async with task_scope() as group:
            task = group.create_task(follow())
            try:
                await ready.wait()
                yield view
            finally:
                task.cancel()

    def tools(self) -> list[CatalogTool]:
        """Return all tools, by pool and name."""
        groups: dict[tuple[str, str], list[CatalogEntry]] = {}
        for entry in self._entries.values():
            groups.setdefault((entry.pool, entry.tool), []).append(entry)
        return [_merged(groups[place]) for place in sorted(groups)]

    def get(self, pool: str, tool: str) -> CatalogTool | None:
        """Return one tool."""
        entries = [entry for entry in self._entries.values() if (entry.pool, entry.tool) == (pool, tool)]
        return _merged(entries) if entries else None

    async def wait_until(self, holds: Callable[["CatalogView"], bool]) -> None:
        """Wait until `holds(self)`, which is asked after every change; bound it with a timeout of your own."""
        async with self._changed:
            await self._changed.wait_for(lambda: holds(self))

    async def _take_in(self, broker: Broker, change: Change) -> None:
        if isinstance(change, Deleted):
            self._entries.pop(change.key, None)
            self._values.pop(change.key, None)
        elif isinstance(change, Entry):
            if self._values.get(change.key) == change.value:
                return  # a sign of life without news
            entry = _read(broker, change)
            if entry is None:
                return
            self._entries[change.key] = entry
            self._values[change.key] = change.value
        async with self._changed:
            self._changed.notify_all()


def _read(broker: Broker, change: Entry) -> CatalogEntry | None:
    """Decode an entry; one that claims another place than its key is none (keys are what permissions protect)."""
    try:
        entry = decode(CatalogEntry, change.value)
        key = broker.subjects.catalog_key(entry.pool, entry.tool, entry.worker)
    except ToolmeshError as error:
        _log.warning("catalog entry %s can't be read: %s", change.key, error)
        return None
    if key != change.key:
        _log.warning("catalog entry %s claims to be %s and is ignored", change.key, key)
        return None
    return entry


def _merged(entries: list[CatalogEntry]) -> CatalogTool:
    newest = max(entries, key=lambda entry: (entry.discovered_ms, entry.version))
    workers = tuple(sorted(entry.worker for entry in entries if entry.version == newest.version))
    others = tuple(sorted({entry.version for entry in entries} - {newest.version}))
    return CatalogTool(newest, workers, others)
