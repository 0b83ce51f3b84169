"""Embeds in a tool call's arguments: every text in them, down to a depth, but raw ones."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.executor.test_embeds import replaced

from toolmesh_executor.embeds.arguments import replace_in_arguments

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(alphabet=st.characters(exclude_characters="«")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=10,
)


def made(arguments: Any, *raw: str) -> Any:
    return json.loads(replace_in_arguments(json.dumps(arguments).encode(), raw, replaced))


def test_every_text_is_replaced_and_keys_are_not() -> None:
    """In lists and mappings, escaped or not; numbers and the like stay."""
    given = {"a": "«math:1+1»", "b": [{"«math:1»": ["x «math:2*3»"]}], "c": 1.5, "d": None, "e": True}
    assert made(given) == {"a": "2", "b": [{"«math:1»": ["x 6"]}], "c": 1.5, "d": None, "e": True}
    assert replace_in_arguments('{"a":"«math:1+1»"}'.encode(), (), replaced) == b'{"a": "2"}'


def test_raw_arguments_stay_with_all_that_is_in_them() -> None:
    """A name of the list is an argument's, not a key's further down."""
    given = {"sql": ["«math:1»"], "other": {"sql": "«math:1+1»"}}
    assert made(given, "sql") == {"sql": ["«math:1»"], "other": {"sql": "2"}}


def test_texts_are_replaced_ten_levels_down() -> None:
    """Deeper ones stay."""
    ten: Any = "«math:1+1»"
    for _ in range(10):
        ten = [ten]
    assert json.dumps(made({"a": ten})).count("2") == 1
    assert made({"a": [ten]}) == {"a": [ten]}


@pytest.mark.parametrize(
    "arguments",
    [
        b"",
        b"{",
        b"[1]",
        b"\xff",
        b"[" * 100_000,
        '["«math:1»"]'.encode(),
        '{"a": "«math:1»", "b": NaN}'.encode(),
        '{"a": "«math:1»", "b": 1e999}'.encode(),
    ],
)
def test_what_is_no_json_object_passes_untouched(arguments: bytes) -> None:
    """Whoever reads the arguments refuses them with a better message."""
    assert replace_in_arguments(arguments, (), replaced) == arguments


@given(st.dictionaries(st.text(max_size=5), JSON_VALUES, max_size=4), st.booleans())
def test_arguments_without_embeds_are_byte_equal(arguments: dict[str, Any], ascii_only: bool) -> None:
    """Numbers, order, spaces and escapes are the model's own."""
    text = json.dumps(arguments, ensure_ascii=ascii_only, indent=1).encode(errors="replace")
    assert replace_in_arguments(text, (), replaced) == text
