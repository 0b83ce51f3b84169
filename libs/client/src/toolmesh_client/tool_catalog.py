"""The catalog as calls look it up: grouped and read once after each change, not at each call."""

import contextlib
from collections.abc import AsyncIterator

from toolmesh_broker.catalog import CatalogView
from toolmesh_broker.ports import Broker, Change, Deleted, Entry
from toolmesh_client.resolution import ToolsByPool
from toolmesh_contracts.envelopes.catalog import CatalogEntry

__all__ = ["ToolCatalog"]


class ToolCatalog(CatalogView):
    """What workers serve now, kept up to date inside `open`."""

    def __init__(self) -> None:
        super().__init__()
        self._by_pool: ToolsByPool | None = None

    @classmethod
    @contextlib.asynccontextmanager
    async def open(cls, broker: Broker) -> AsyncIterator["ToolCatalog"]:
        """Watch the catalog; when the block begins, all that was there is known."""
        async with super().open(broker) as view:
            assert isinstance(view, cls)  # noqa: S101 - the base class makes one of the class it is called on
            yield view

    def entries(self) -> tuple[CatalogEntry, ...]:
        """Return what each worker says of each of its tools."""
        return tuple(self._entries.values())

    def by_pool(self) -> ToolsByPool:
        """Return each tool's newest version, by pool and name; the same object until something changes."""
        if self._by_pool is None:
            tools: dict[str, dict[str, CatalogEntry]] = {}
            for tool in self.tools():
                tools.setdefault(tool.entry.pool, {})[tool.entry.tool] = tool.entry
            self._by_pool = tools
        return self._by_pool

    async def _take_in(self, broker: Broker, change: Change) -> None:
        # Most changes are signs of life without news.
        if isinstance(change, Deleted) or (isinstance(change, Entry) and self._values.get(change.key) != change.value):
            self._by_pool = None
        await super()._take_in(broker, change)
