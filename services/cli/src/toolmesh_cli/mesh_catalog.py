"""Waits until a starting mesh's catalog holds what its workers have found."""

import asyncio
from collections.abc import Collection
from typing import Final

from toolmesh_cli.mesh_listing import MeshListing, read_listing
from toolmesh_client.connect import connect
from toolmesh_client.profile import ClientProfile, settings_from

__all__ = ["complete_listing"]

_WITHIN_S: Final = 10.0
_POLL_S: Final = 0.05


async def complete_listing(profile: ClientProfile, workers: Collection[str]) -> MeshListing:
    """Return the listing once each worker has published all tools that it counts, or as it is after 10 s.

    Raises:
        ToolmeshError: the broker can't be reached.
    """
    deadline = asyncio.get_running_loop().time() + _WITHIN_S
    async with connect(settings_from(profile)) as client:
        while True:
            listing = await read_listing(client)
            if _is_complete(listing, workers) or asyncio.get_running_loop().time() > deadline:
                return listing
            await asyncio.sleep(_POLL_S)


def _is_complete(listing: MeshListing, workers: Collection[str]) -> bool:
    counted = {heartbeat.instance: heartbeat.tools for heartbeat in listing.workers}
    return all(worker in counted and listing.tools_of(worker) >= counted[worker] for worker in workers)
