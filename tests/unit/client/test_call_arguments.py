"""Arguments, settings and secrets: encoded strictly, refused with the reason, never leaked."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.scripted_worker import catalog_entry

from toolmesh_client.arguments import check_required_arguments, encode_arguments
from toolmesh_client.errors import InvalidArgumentsError, InvalidCallError, SecretNotSealableError
from toolmesh_client.secrets_box import Secret, seal_secrets
from toolmesh_contracts.errors import ErrorCode
from toolmesh_contracts.sealed_config import sealing_context
from toolmesh_identity.keys import SealingKey, SealingKeys
from toolmesh_identity.sealing import open_sealed

texts = st.text(st.characters(exclude_categories=["Cs"]))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(texts, json_values, max_size=4))
def test_an_object_survives_the_encoding(arguments: dict[str, Any]) -> None:
    """What the tool reads is what the caller gave."""
    assert json.loads(encode_arguments(arguments)) == arguments


def test_bytes_travel_as_they_are() -> None:
    """A caller's own JSON is checked, not written anew: order, spaces and number forms stay."""
    given_bytes = b' {"b": 1.50, "a": 1e3} '
    assert encode_arguments(given_bytes) is given_bytes


def cyclic() -> dict[str, object]:
    value: dict[str, object] = {}
    value["self"] = value
    return value


def nested(depth: int) -> dict[str, object]:
    value: dict[str, object] = {}
    for _ in range(depth):
        value = {"x": value}
    return value


@pytest.mark.parametrize(
    "arguments",
    [
        {"x": float("nan")},
        {"x": float("inf")},
        {"x": object()},
        {"x": {1, 2}},
        {(1, 2): "x"},
        {"x": "\ud800"},
        cyclic(),
        nested(100_000),
        b"",
        b"[1]",
        b'"text"',
        b'{"x": NaN}',
        b'{"x": 1',
        b'{"x": "\xff"}',
        b'{"x":' * 100_000,
    ],
)
def test_what_is_no_json_object_is_refused(arguments: Any) -> None:
    """NaN, Infinity, foreign types, cycles, depth and broken bytes give one typed error with a bounded message."""
    with pytest.raises(InvalidArgumentsError) as caught:
        encode_arguments(arguments)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENTS
    assert len(str(caught.value)) < 1000


SCHEMA = b'{"type":"object","properties":{"city":{},"day":{},"map":{}},"required":["city","day","map"]}'


def test_missing_arguments_are_named() -> None:
    """The message names every missing argument, so that a model can repair the call in one step."""
    entry = catalog_entry("get_forecast", parameters=msgspec.Raw(SCHEMA))
    with pytest.raises(InvalidArgumentsError, match="requires city, map, which the call lacks") as caught:
        check_required_arguments(b'{"day": null}', (), entry)
    assert caught.value.message.endswith("lacks")
    assert caught.value.hint == "it takes: city, day, map"
    with pytest.raises(InvalidArgumentsError) as caught:
        check_required_arguments(b'{"day": 1, "ctiy": "x", "zzz": 1}', ["map"], entry)
    assert caught.value.message.endswith("lacks; unknown: 'ctiy' (did you mean 'city'?), 'zzz'")


def test_a_file_counts_as_an_argument() -> None:
    """A parameter given as an artifact, alone or in a list, is not missing."""
    entry = catalog_entry("get_forecast", parameters=msgspec.Raw(SCHEMA))
    check_required_arguments(b'{"day": 1, "city": "x"}', ["map[0]", "map[1]"], entry)
    check_required_arguments(b'{"day": 1, "city": "x"}', ["map"], entry)


@pytest.mark.parametrize("schema", [b"true", b"[]", b'{"required": 7}', b'{"required": [1]}', b"{}", b"null"])
def test_a_strange_schema_requires_nothing_here(schema: bytes) -> None:
    """The tool itself judges its arguments; a schema that the client can't read never blocks a call."""
    check_required_arguments(b"{}", (), catalog_entry("x", parameters=msgspec.Raw(schema)))


def test_secrets_open_only_for_their_call_and_pool() -> None:
    """The box holds [path, value] pairs and is bound to namespace, pool and invocation."""
    key = SealingKey.generate()
    secrets = [Secret(("auth", "headers", 0), "s3cret"), Secret(("url",), "postgres://u:p@h")]
    box = seal_secrets(secrets, {"default": key.public}, namespace="demo", pool="default", invocation="call-1")
    assert box is not None
    assert "s3cret" not in box
    opened = open_sealed(box, SealingKeys(key), sealing_context("demo", "default", "call-1"))
    assert json.loads(opened) == [[["auth", "headers", 0], "s3cret"], [["url"], "postgres://u:p@h"]]


def test_no_secrets_need_no_key() -> None:
    """A pool without a sealing key can be called without secrets."""
    assert seal_secrets((), {}, namespace="demo", pool="default", invocation="call-1") is None


def test_secrets_without_a_key_are_refused_not_sent_in_clear() -> None:
    """Nothing is silently weakened."""
    with pytest.raises(SecretNotSealableError, match="pool 'default' has no sealing key"):
        seal_secrets([Secret(("x",), "s3cret")], {}, namespace="demo", pool="default", invocation="call-1")


def test_a_secret_that_is_no_json_is_not_quoted_in_the_error() -> None:
    """Errors reach logs and models."""
    key = SealingKey.generate().public
    with pytest.raises(InvalidCallError) as caught:
        seal_secrets([Secret(("x",), {"s3cret"})], {"default": key}, namespace="d", pool="default", invocation="c")
    assert "s3cret" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert "s3cret" not in repr(Secret(("x",), "s3cret"))
