"""Says why a tool that was asked for is not served, if the mesh knows."""

from toolmesh_broker.errors import BrokerError
from toolmesh_cli.mesh_listing import MeshListing, read_listing
from toolmesh_client.client import Client
from toolmesh_contracts.errors import ToolmeshError

__all__ = ["why_not_served", "with_known_reason"]


async def why_not_served(client: Client, tool: str, error: ToolmeshError) -> ToolmeshError:
    """Return the error to show instead of `error`: with the workers' reason if they could not load the tool."""
    try:
        return with_known_reason(error, tool, await read_listing(client))
    except BrokerError:
        return error


def with_known_reason(error: ToolmeshError, tool: str, listing: MeshListing) -> ToolmeshError:
    """Return `error` with what the listing says of the tool; unchanged if no worker has tried to load it."""
    for problem, workers in listing.problems().items():
        if problem.tool == tool:
            return ToolmeshError(
                f"tool {tool!r} of {problem.source} could not be loaded: {problem.message} "
                f"[{problem.code}] on {', '.join(workers)}",
                code=error.code,
                hint="correct it: the workers notice, and `toolmesh tools list` then shows the tool",
            )
    return error
