"""What grants cover."""

import fnmatch
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmesh_contracts.scopes import MAX_SCOPE_CHARACTERS, Scope, ScopeSet, ScopeSyntaxError, glob_matches, parse

SEGMENT = st.text("abcXYZ_-09.", min_size=1, max_size=6)
SCOPES = st.builds(Scope, SEGMENT, SEGMENT, SEGMENT)
PATTERNS = st.text("ab*", max_size=8)


@pytest.mark.parametrize(
    ("grant", "required"),
    [
        ("tool:email:send", "tool:email:send"),
        ("tool:*:*", "tool:email:send"),
        ("agent:customer_*:invoke", "agent:customer_care:invoke"),
        ("agent:*:invoke", "agent:a.b-c:invoke"),
        ("*", "tool:email:send"),
        ("*:*:*", "tool:email:send"),
        ("*", "tools:read"),
        ("*:*:*", "tools:read"),
        ("tools:read", "tools:read"),
        ("tools:*", "tools:read"),
        ("tool*", "tools:read"),
        ("notify:*:send", "notify:_:send"),
        ("notify:_:send", "notify:*:send"),
        ("agent:*:create", "agent:*:create"),
    ],
)
def test_grant_covers(grant: str, required: str) -> None:
    """Equal texts, globs inside a segment, `_` and `*` for one another, everything-grants, opaque globs."""
    assert ScopeSet([grant]).covers(required)


@pytest.mark.parametrize(
    ("grant", "required"),
    [
        ("tool:*:*", "connector:database:invoke"),
        ("tool:email:*", "tool:mail:send"),
        ("agent:*:invoke", "workflow:x:invoke"),
        ("agent:*", "agent:a:invoke"),
        ("agent:**", "agent:a:invoke"),
        ("agent", "agent:a:invoke"),
        ("Tool:email:send", "tool:email:send"),
        ("notify:_:send", "notify:email:send"),
        ("notify:e*:send", "notify:_:send"),
        ("agent:customer_*:invoke", "agent:*:invoke"),
        ("agent:customer_?:invoke", "agent:customer_1:invoke"),
        ("agent:[ab]:invoke", "agent:a:invoke"),
        ("*:*", "tools:read"),
        ("**", "tools:read"),
        ("*:*:*:*", "tool:email:send"),
        ("tool:*:* ", "tool:email:send"),
        ("", "tool:email:send"),
        ("tool::send", "tool::send "),
        ("*", ""),
        ("*", "tool:email:send x"),
        ("*", "a" * (MAX_SCOPE_CHARACTERS + 1)),
    ],
)
def test_grant_does_not_cover(grant: str, required: str) -> None:
    """Deny by default: another segment, another case, malformed grants and illegible requirements."""
    assert not ScopeSet([grant]).covers(required)


def test_all_required_scopes_are_needed() -> None:
    """Several required scopes mean all of them, and the missing ones are named in order."""
    held = ScopeSet(["tool:email:send", "agent:*:invoke"])

    assert held.missing(["agent:a:invoke", "tool:email:send"]) == ()
    assert held.missing(["tool:sms:send", "agent:a:invoke", "tools:read"]) == ("tool:sms:send", "tools:read")
    assert held.missing([]) == ()


def test_malformed_grants_are_listed_and_grant_nothing() -> None:
    """What can't be a grant is kept for a warning, whatever its type."""
    held = ScopeSet(["*:*", "a b", "", "x" * 300, 7, None, "tool:email:send"])

    assert len(held.ignored) == 6
    assert held.covers("tool:email:send")
    assert not held.covers("tool:email:read")


def test_an_opaque_scope_that_looks_like_three_parts_is_matched_as_one_text() -> None:
    """A declared tool's scope is never taken apart: a `*` may span its colons, `_` means nothing."""
    assert ScopeSet(["data:*"]).covers_opaque("data:birds:read")
    assert not ScopeSet(["data:*"]).covers("data:birds:read")
    assert not ScopeSet(["data:_:read"]).covers_opaque("data:*:read")
    assert not ScopeSet(["*"]).covers_opaque("no spaces")


@pytest.mark.parametrize(
    "text", ["", "*", "a", "a:b", "a:b:c:d", ":b:c", "a::c", "a:b:", "a:b :c", "a:b\n:c", "a" * 300]
)
def test_text_that_is_no_scope(text: str) -> None:
    """Exactly three segments, none empty, without white space."""
    with pytest.raises(ScopeSyntaxError):
        parse(text)


@given(SCOPES)
def test_parsing_gives_the_written_scope_back(scope: Scope) -> None:
    """Writing and parsing are inverse."""
    assert parse(str(scope)) == scope


@given(SCOPES, SCOPES)
def test_plain_grants_cover_only_themselves(grant: Scope, required: Scope) -> None:
    """Without a wildcard a grant is equality."""
    assert ScopeSet([str(grant)]).covers(str(required)) == (grant == required)


@given(SCOPES, st.lists(st.text(max_size=12), max_size=5))
def test_more_grants_never_take_anything_away(scope: Scope, others: list[str]) -> None:
    """Adding grants keeps what was covered."""
    assert ScopeSet([str(scope), *others]).covers(str(scope))


@given(st.text(max_size=20).filter(lambda text: text not in {"*", "*:*:*"} and text.count(":") != 2), SCOPES)
def test_a_malformed_grant_covers_no_scope(grant: str, required: Scope) -> None:
    """Whatever is not three segments never opens a three-part scope."""
    assert not ScopeSet([grant]).covers(str(required))


@given(PATTERNS, st.text("ab", max_size=10))
def test_globs_agree_with_the_shell(pattern: str, text: str) -> None:
    """For `*` alone the answer is fnmatch's."""
    assert glob_matches(pattern, text) == bool(re.fullmatch(fnmatch.translate(pattern), text))
