"""Hints that nobody signed take scopes away, and never add one."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from toolmesh_contracts.access.narrowing import narrow
from toolmesh_contracts.scopes import ScopeSet

SEGMENTS = st.sampled_from(["*", "_", "a", "b", "ab", "a*", "*b", "_*", "*_", "a_", "**"])
SCOPES = st.one_of(
    st.just("*"),
    st.builds("{}:{}:{}".format, SEGMENTS, SEGMENTS, SEGMENTS),
    st.builds("{}:{}".format, SEGMENTS, SEGMENTS),
    st.text("ab:*_", max_size=6),
)


@pytest.mark.parametrize(
    ("held", "hint"),
    [
        ("agent:*:invoke", "agent:a:invoke"),
        ("agent:*:invoke", "agent:a*:invoke"),
        ("agent:a*:invoke", "agent:a*:invoke"),
        ("*", "*"),
        ("*", "tools:read"),
        ("*:*:*", "*"),
        ("tools:*", "tools:read"),
        ("notify:*:send", "notify:_:send"),
        ("notify:_:send", "notify:_:send"),
    ],
)
def test_a_hint_within_what_is_held_is_kept(held: str, hint: str) -> None:
    """The token then holds the hint, and no more."""
    assert narrow([held, "x:y:z"], [hint]).scopes == (hint,)


@pytest.mark.parametrize(
    ("held", "hint"),
    [
        ("agent:a:invoke", "agent:*:invoke"),
        ("agent:a*:invoke", "agent:*:invoke"),
        ("agent:a:invoke", "agent:b:invoke"),
        ("agent:*:invoke", "*"),
        ("notify:_:send", "notify:*:send"),
        ("notify:_*:send", "notify:_:send"),
        ("tools:*", "tools:x:read"),
        ("tool:*:*", "tool:*"),
        ("tool:*:*", "tool:x:y z"),
        ("*", "**"),
    ],
)
@pytest.mark.requirement("access:narrowing")
def test_a_hint_that_is_wider_is_dropped_whole(held: str, hint: str) -> None:
    """It is told, and not cut to what is held."""
    assert narrow([held], [hint]) == narrow([held], [hint, hint])
    assert (narrow([held], [hint]).scopes, narrow([held], [hint]).dropped) == ((), (hint,))


def test_no_hints_at_all_leave_nothing() -> None:
    """Whoever has no hint does not narrow; an empty list of them asks for nothing."""
    assert narrow(["*"], []).scopes == ()


@example(["notify:_:send"], ["notify:*:send"], "notify:a:send")
@example(["notify:_*:send"], ["notify:_:send"], "notify:*:send")
@given(st.lists(SCOPES, max_size=4), st.lists(SCOPES, max_size=4), SCOPES)
@settings(max_examples=1000)
@pytest.mark.requirement("access:narrowing")
def test_no_hint_ever_widens(held: list[str], hints: list[str], required: str) -> None:
    """What the narrowed token covers, the first one and the hints cover too; as a scope, and as an opaque one."""
    narrowed = narrow(held, hints)
    left, before, asked = ScopeSet(narrowed.scopes), ScopeSet(held), ScopeSet(hints)

    assert not left.covers(required) or (before.covers(required) and asked.covers(required))
    assert not left.covers_opaque(required) or (before.covers_opaque(required) and asked.covers_opaque(required))
    assert sorted((*narrowed.scopes, *narrowed.dropped)) == sorted(set(hints))


@given(st.lists(SCOPES, max_size=4), st.lists(SCOPES, max_size=4))
def test_narrowing_again_changes_nothing(held: list[str], hints: list[str]) -> None:
    """Whoever is handed a narrowed token can ask for what it holds."""
    once = narrow(held, hints).scopes
    assert narrow(once, once).scopes == once
