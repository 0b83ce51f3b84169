"""The catalog that calls look up is grouped once after each change."""

import asyncio

from tests.support.scripted_worker import catalog_entry
from tests.support.tool_client import NAMESPACE, until, worker_broker

from toolmesh_broker.memory.hub import MemoryHub
from toolmesh_client.tool_catalog import ToolCatalog
from toolmesh_contracts.envelopes.catalog import CatalogEntry
from toolmesh_contracts.wire import encode


async def test_the_grouping_is_kept_until_something_changes() -> None:
    """A sign of life without news costs nothing; a newer version, another tool and a tool's end are seen at once."""
    async with MemoryHub.running(NAMESPACE) as hub:
        broker = worker_broker(hub)
        bucket = broker.keyvalue(broker.subjects.catalog_bucket())

        async def put(entry: CatalogEntry) -> None:
            await bucket.put(broker.subjects.catalog_key(entry.pool, entry.tool, entry.worker), encode(entry), 60.0)

        old, new = catalog_entry("echo"), catalog_entry("echo", worker="worker-2", version="v2", discovered_ms=2)
        await put(old)
        async with ToolCatalog.open(broker) as catalog:
            first = catalog.by_pool()
            assert first == {"default": {"echo": old}}
            assert catalog.by_pool() is first
            await put(catalog_entry("other", pool="web"))
            await until(lambda: "web" in catalog.by_pool(), "the other pool")
            kept = catalog.by_pool()
            await put(old)
            await put(old)
            for _ in range(20):
                await asyncio.sleep(0)
            assert catalog.by_pool() is kept
            await put(new)
            await until(lambda: catalog.by_pool()["default"]["echo"] == new, "the newer version")
            assert sorted(entry.worker for entry in catalog.entries()) == ["worker-1", "worker-1", "worker-2"]
            await bucket.delete(broker.subjects.catalog_key("default", "echo", "worker-2"))
            await until(lambda: catalog.by_pool()["default"]["echo"] == old, "the older version")
