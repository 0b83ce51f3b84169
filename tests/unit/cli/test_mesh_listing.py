"""What a mesh serves and lacks, put together from catalog and heartbeats of different age."""

import pytest
from tests.support.scripted_worker import catalog_entry

from toolmesh_cli.mesh_listing import MeshListing, describe_problem
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


@pytest.mark.parametrize(
    ("source", "tool", "message", "told"),
    [
        ("/a/b.yaml", "b/x", "/a/b.yaml:7: ${KEY} is not set", "b/x: /a/b.yaml:7: ${KEY} is not set"),
        ("/a/b.yaml", "", "/a/b.yaml:7: wrong", "/a/b.yaml:7: wrong"),
        ("t/manifest.yaml", "x", "no program", "t/manifest.yaml: x: no program"),
    ],
)
def test_a_problems_file_is_named_once(source: str, tool: str, message: str, told: str) -> None:
    """The message often begins with it, and then with the line too."""
    problem = ToolProblem(source=source, tool=tool, code=ErrorCode.INVALID_CONFIGURATION, message=message)
    assert describe_problem(problem, ("w1", "w2")) == f"{told} [INVALID_CONFIGURATION] on w1, w2"
