"""Documented categories, verbs and ids of agents, as grants."""

import pytest

from toolmesh_contracts.access.grants import CATEGORIES, check_grant
from toolmesh_contracts.scopes import ScopeSet

VERBS = ("read", "create", "update", "delete", "deploy", "invoke", "subscribe", "share", "test", "assign")


@pytest.mark.parametrize("category", sorted(CATEGORIES))
def test_a_grant_of_a_category_opens_no_other(category: str) -> None:
    """`<category>:*:*` covers each of its scopes, and of the other 20 none."""
    held = ScopeSet([check_grant(f"{category}:*:*")])

    assert len(CATEGORIES) == 21
    assert [other for other in sorted(CATEGORIES) if held.covers(f"{other}:x:read")] == [category]
    assert all(held.covers(f"{category}:_:{verb}") for verb in VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_a_grant_of_a_verb_is_of_that_alone(verb: str) -> None:
    """None implies another; verbs of tools are free words."""
    held = ScopeSet([check_grant(f"project:*:{verb}")])

    assert [other for other in VERBS if held.covers(f"project:x:{other}")] == [verb]
    assert ScopeSet([check_grant("tool:lamp:dim-slowly")]).covers("tool:lamp:dim-slowly")


def test_an_agent_is_meant_by_its_own_name_alone() -> None:
    """As its file writes it: no other case, no underscores for dashes, nothing longer."""
    for name in ("weather-agent", "0190a0b0-0000-7000-8000-000000000000"):
        held = ScopeSet([check_grant(f"agent:{name}:invoke")])
        assert held.covers(f"agent:{name}:invoke")
        for other in (name.replace("-", "_"), name.upper(), f"{name}s", name[:-1], "*", "_"):
            assert not held.covers(f"agent:{other}:invoke"), other


def test_scopes_of_the_former_generation_are_grants_like_others() -> None:
    """They can stand in a file of roles, and open nothing that is asked for now."""
    former = [
        "agent:clerk:delegate",
        "tool:basic:search",
        "monitor/namespace/demo:a2a_messages:subscribe",
        "sam:model_config:write",
    ]
    held = ScopeSet([check_grant(scope) for scope in former])

    assert held.missing(former) == ()
    assert held.ignored == ()
    for asked in ("agent:clerk:invoke", "tool:other:search", "model_config:_:update"):
        assert not held.covers(asked)
