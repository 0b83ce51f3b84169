"""Which pool and entry a tool's name means, and what a person is told when it means none."""

import pytest
from tests.support.scripted_worker import catalog_entry

from toolmesh_client.errors import AmbiguousToolError, ToolNotFoundError
from toolmesh_client.resolution import ToolsByPool, resolve_tool
from toolmesh_contracts.errors import ErrorCode


def catalog(**pools: list[str]) -> ToolsByPool:
    return {pool: {tool: catalog_entry(tool, pool=pool) for tool in tools} for pool, tools in pools.items()}


def test_a_tool_of_one_pool_needs_no_pool() -> None:
    """The usual case."""
    assert resolve_tool(catalog(a=["x", "y"], b=["z"]), "z", None).pool == "b"


def test_a_tool_of_two_pools_asks_for_one() -> None:
    """The pool is the trust boundary: the client never chooses it."""
    served = catalog(a=["x"], b=["x"])
    with pytest.raises(AmbiguousToolError, match="several pools: a, b"):
        resolve_tool(served, "x", None)
    assert resolve_tool(served, "x", "b").pool == "b"


@pytest.mark.parametrize(
    ("served", "tool", "pool", "hint"),
    [
        (catalog(a=["get_forecast"]), "get_forcast", None, "did you mean 'get_forecast'?"),
        (catalog(a=["get_forecast"]), "zzz", None, "`toolmesh tools list`"),
        (catalog(a=["x"], b=["y"]), "y", "a", "pool b serves it"),
        (catalog(default=["x"]), "x", "defualt", "did you mean 'default'?"),
        (catalog(default=["x"]), "x", "zzz", "pools with workers: default"),
        ({}, "x", None, "start one"),
        ({}, "x", "default", "start one"),
    ],
)
def test_an_unknown_tool_says_what_to_do(served: ToolsByPool, tool: str, pool: str | None, hint: str) -> None:
    """The error has the nearest spelling, the pool that has it, or how to see what is there."""
    with pytest.raises(ToolNotFoundError) as caught:
        resolve_tool(served, tool, pool)
    assert hint in caught.value.hint
    assert caught.value.code is ErrorCode.TOOL_NOT_FOUND
