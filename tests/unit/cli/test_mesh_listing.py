"""What a mesh serves and lacks, put together from catalog and heartbeats of different age."""

import pytest
from tests.support.scripted_worker import catalog_entry

from toolmesh_cli.mesh_listing import MeshListing
from toolmesh_contracts.envelopes.catalog import Heartbeat, ToolProblem
from toolmesh_contracts.errors import ErrorCode


@pytest.mark.parametrize(("served", "told"), [((), True), (("weather",), False), (("other",), True)])
def test_a_heartbeat_older_than_the_catalog_misses_no_served_tool(served: tuple[str, ...], told: bool) -> None:
    """An executor that beat before the workers published says that their tools are missing: they no longer are."""
    unserved = ToolProblem(
        source="clerk.yaml:3",
        tool="clerk/forecast",
        code=ErrorCode.TOOL_NOT_AVAILABLE,
        message="tool 'weather' is not served by any worker",
        unserved="weather",
    )
    lasting = ToolProblem(source="clerk.yaml:9", tool="clerk/x", code=ErrorCode.INVALID_CONFIGURATION, message="wrong")
    executor = Heartbeat(
        instance="executor-1", pool="_executors", kind="executor", started_ms=1, problems=(unserved, lasting)
    )

    listing = MeshListing(tuple(catalog_entry(tool) for tool in served), (executor,))

    assert listing.problems() == ({unserved: ("executor-1",)} if told else {}) | {lasting: ("executor-1",)}
