"""A configuration comes together again from its two parts, and no secret stays in the clear one."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmesh_contracts.sealed_config import merge_config, sealing_context, split_config

VALUES = st.recursive(
    st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def paths_of(value: Any, at: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path for key, item in items for path in ((*at, key), *paths_of(item, (*at, key)))]


@given(st.dictionaries(st.text(max_size=3), VALUES, max_size=4), st.data())
def test_split_and_merge_are_inverse(config: dict[str, Any], data: st.DataObject) -> None:
    """Whatever is taken out is put back, and neither function changes what it was given."""
    before = json.dumps(config)
    known = paths_of(config)
    secret = data.draw(st.lists(st.sampled_from(known), max_size=4)) if known else []
    clear, sealed = split_config(config, secret)
    merged, _ = merge_config(clear, json.loads(json.dumps(sealed)))
    assert merged == config
    assert json.dumps(config) == before


def test_secrets_leave_the_clear_part_and_are_listed() -> None:
    """The clear part has no trace; the merged texts are known to redaction."""
    config = {"url": "db://x", "auth": {"user": "u", "keys": ["k1", {"k": "k2", "pin": 12345, "on": True}]}}
    clear, sealed = split_config(config, [("url",), ("auth", "keys", 0), ("auth", "keys", 1), ("absent",)])
    assert clear == {"auth": {"user": "u", "keys": [None, None]}}
    merged, secrets = merge_config(clear, sealed)
    assert merged == config
    assert secrets == ("db://x", "k1", "k2", "12345")


@pytest.mark.parametrize(
    "sealed",
    [None, {}, [1], [["a", 1]], [[[], 1]], [[["a", "b"], 1]], [[[0], 1, 2]], [[["l", 5], 1]], [[["l", "x"], 1]]],
)
def test_malformed_sealed_part_is_refused(sealed: Any) -> None:
    """Wrong forms and paths that lead nowhere are one kind of error."""
    with pytest.raises(ValueError, match="sealed part"):
        merge_config({"l": []}, sealed)


def test_context_tells_calls_apart() -> None:
    """A box of one call, pool or namespace is none of another."""
    contexts = {
        sealing_context(*names) for names in (("n", "p", "i"), ("n", "p", "j"), ("n", "q", "i"), ("m", "p", "i"))
    }
    assert len(contexts) == 4
