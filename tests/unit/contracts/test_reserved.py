"""Names that mean something already."""

import pytest

from toolmesh_contracts.reserved import (
    BUILTIN_GROUPS,
    BUILTIN_TOOLS,
    DECLARED_BUILTINS,
    declared_reserved_reason,
    reserved_reason,
)


@pytest.mark.parametrize(
    "name",
    ["web_request", "volume_mkdir", "send_email", "data_analysis", "load_skill", "peer_x", "_x", "builder_tools"],
)
def test_reserved_for_manifests(name: str) -> None:
    """Built-in tools, groups, skill tools and reserved beginnings are refused with a reason that tells which."""
    assert reserved_reason(name)


@pytest.mark.parametrize("name", ["get_forecast", "execute_sql_query", "peer", "web_request_2", "species"])
def test_free_names(name: str) -> None:
    """Everything else may be defined, the packaged SQL tool too."""
    assert not reserved_reason(name)
    assert not declared_reserved_reason(name)


def test_declared_tools_have_built_ins_of_their_own() -> None:
    """A declared tool may not take the name of a built-in of either kind; group slugs are no tools."""
    assert all(declared_reserved_reason(name) for name in DECLARED_BUILTINS | BUILTIN_TOOLS)
    assert declared_reserved_reason("peer_x")
    assert not declared_reserved_reason("research")


def test_every_member_of_a_group_is_a_tool() -> None:
    """The groups and the set of tools can't drift apart."""
    assert {name for members in BUILTIN_GROUPS.values() for name in members} <= BUILTIN_TOOLS
    assert len(BUILTIN_TOOLS) == 56
