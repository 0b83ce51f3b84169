"""Names: grammars hold, and no two names share a token, a tenant or a stream."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmesh_contracts.errors import InvalidNameError
from toolmesh_contracts.ids import new_uuid7, uuid7_milliseconds
from toolmesh_contracts.names import (
    MAX_TOKEN_LENGTH,
    SHARD_COUNT,
    Lane,
    join_names,
    shard_of,
    tenant_token,
    token,
    validate_identifier,
    validate_namespace,
    validate_pool,
    validate_tool_name,
)
from toolmesh_contracts.subjects import InvokeSubject, ReplySubject, Subjects

TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=150)
NAME = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_-]{0,12}", fullmatch=True)


@given(TEXT)
def test_token_is_safe_everywhere(name: str) -> None:
    """A token has only characters that subjects and KV keys take, and a bounded length."""
    assert re.fullmatch(r"[A-Za-z0-9_=-]+", token(name))
    assert len(token(name)) <= MAX_TOKEN_LENGTH


@given(TEXT, TEXT)
def test_different_names_have_different_tokens(one: str, other: str) -> None:
    """The mapping is injective."""
    assert (token(one) == token(other)) == (one == other)


@given(st.tuples(TEXT, TEXT), st.tuples(TEXT, TEXT))
def test_different_tenants_have_different_tokens(one: tuple[str, str], other: tuple[str, str]) -> None:
    """No agent and user can pass as another pair."""
    assert (tenant_token(*one) == tenant_token(*other)) == (one == other)
    assert re.fullmatch(r"[A-Za-z0-9_=-]+", tenant_token(*one))


@given(st.lists(NAME, min_size=1, max_size=3), st.lists(NAME, min_size=1, max_size=3))
def test_joined_names_are_unambiguous(one: list[str], other: list[str]) -> None:
    """Two namespaces or pools never share a stream."""
    assert (join_names(*one) == join_names(*other)) == (one == other)


@pytest.mark.parametrize("bad", ["", ".", "a.b", "a b", "-a", "a" * 65, "a*", ">", "é", "a\n", "$SYS"])
def test_bad_namespace_and_pool_are_refused(bad: str) -> None:
    """Nothing with a wildcard, separator or line end becomes part of a subject."""
    with pytest.raises(InvalidNameError, match="namespace"):
        validate_namespace(bad)
    with pytest.raises(InvalidNameError, match="pool"):
        validate_pool(bad)


@pytest.mark.parametrize("bad", ["", "1x", "_x", "a.b", "a b", "x" * 129, "a\n"])
def test_bad_tool_name_is_refused(bad: str) -> None:
    """Only names that model providers take."""
    with pytest.raises(InvalidNameError, match="tool name"):
        validate_tool_name(bad)


def test_empty_and_unencodable_names_are_refused() -> None:
    """There is no token for nothing, nor for a lone surrogate."""
    for bad in ("", "\ud800"):
        with pytest.raises(InvalidNameError):
            token(bad)
    with pytest.raises(InvalidNameError, match="worker"):
        validate_identifier("worker", "a.b")


@given(TEXT, TEXT, st.sampled_from(Lane))
def test_invoke_subject_survives_a_round_trip(agent: str, user: str, lane: Lane) -> None:
    """The parts of an invocation's subject can be read back, and its shard is the tenant's."""
    subjects = Subjects("demo")
    tenant = tenant_token(agent, user)
    parsed = subjects.parse_invoke(subjects.invoke("default", lane, agent, user))
    assert parsed == InvokeSubject("default", lane, shard_of(tenant), tenant)
    assert 0 <= parsed.shard < SHARD_COUNT


def test_reply_subject_survives_a_round_trip() -> None:
    """The parts of a reply's subject can be read back."""
    subjects = Subjects("demo")
    identifier = new_uuid7()
    assert subjects.parse_reply(subjects.reply("gpu", "executor-1", identifier)) == ReplySubject(
        "gpu", "executor-1", identifier
    )


@pytest.mark.parametrize(
    "subject",
    [
        "",
        "tm.other.invoke.p.normal.1.t",
        "tm.demo.invoke.p.normal.8.t",
        "tm.demo.invoke.p.slow.1.t",
        "tm.demo.invoke.p.normal.1",
        "tm.demo.reply.p.e.i",
    ],
)
def test_foreign_invoke_subject_is_refused(subject: str) -> None:
    """A subject of another namespace, shape, lane or shard is no invocation of ours."""
    with pytest.raises(ValueError, match=r"demo|shard|Lane"):
        Subjects("demo").parse_invoke(subject)


def test_foreign_reply_subject_is_refused() -> None:
    """A subject of another family is no reply."""
    with pytest.raises(ValueError, match="no reply subject"):
        Subjects("demo").parse_reply("tm.demo.invoke.p.normal.1.t")


def test_ids_are_uuid_version_7_and_sort_by_time() -> None:
    """RFC 9562: version 7, variant 10, milliseconds first."""
    ids = [new_uuid7() for _ in range(200)]
    assert all(
        re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", each) for each in ids
    )
    assert len(set(ids)) == len(ids)
    assert [each[:13] for each in ids] == sorted(each[:13] for each in ids)


def test_time_of_an_id_can_be_read_back() -> None:
    """The milliseconds of a version 7 id; nothing for another version or no id at all."""
    assert uuid7_milliseconds("01938b3e-5a00-7c6e-9d0a-3f2b1c4d5e6f") == 0x01938B3E5A00
    assert uuid7_milliseconds("01938b3e-5a00-4c6e-9d0a-3f2b1c4d5e6f") is None
    assert uuid7_milliseconds("i-1") is None
