"""Schemas of tools as providers take them: wider than the original where needed, and nowhere narrower."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from toolmesh_executor.models.tool_schemas import tool_schema

_NAMES = st.sampled_from(["a", "b", "c"])
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "x", "y"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=3),
    max_leaves=6,
)
_LEAVES = st.sampled_from(
    [True, {}, {"type": "string"}, {"type": ["integer", "null"]}, {"type": "array"}, {"enum": ["x", 1]}, {"minimum": 0}]
)


def _larger(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.fixed_dictionaries(
            {"type": st.just("object"), "properties": st.dictionaries(_NAMES, inner, max_size=3)},
            optional={"required": st.lists(_NAMES, unique=True, max_size=2), "additionalProperties": inner},
        ),
        st.fixed_dictionaries({"type": st.just("array")}, optional={"items": inner}),
        st.fixed_dictionaries({"prefixItems": st.lists(inner, min_size=1, max_size=2)}, optional={"items": inner}),
        st.fixed_dictionaries({"oneOf": st.lists(inner, min_size=1, max_size=2)}),
        st.fixed_dictionaries({"not": inner}),
        st.fixed_dictionaries({"if": inner, "then": inner}),
        st.fixed_dictionaries({"anyOf": st.lists(inner, min_size=1, max_size=2)}),
        st.fixed_dictionaries({"allOf": st.lists(inner, min_size=1, max_size=2)}),
    )


_SCHEMAS = st.recursive(_LEAVES, _larger, max_leaves=8)


def _arrays_have_items(schema: object) -> bool:
    if isinstance(schema, list):
        return all(map(_arrays_have_items, schema))
    if not isinstance(schema, dict):
        return True
    kind = schema.get("type")
    is_array = kind == "array" or (isinstance(kind, list) and "array" in kind)
    return (not is_array or isinstance(schema.get("items"), dict)) and all(map(_arrays_have_items, schema.values()))


@given(st.dictionaries(_NAMES, _SCHEMAS, max_size=3), st.lists(_NAMES, unique=True, max_size=2), _VALUES)
def test_what_a_tool_takes_the_adapted_schema_takes(
    properties: dict[str, Any], required: list[str], value: object
) -> None:
    """It is only ever widened, keeps what is required, and has what providers insist on."""
    schema = {"type": "object", "properties": properties, "required": required}
    adapted = tool_schema(schema)
    arguments = value if isinstance(value, dict) else {"a": value}
    if Draft202012Validator(schema).is_valid(arguments):
        assert Draft202012Validator(adapted).is_valid(arguments)
    assert adapted["required"] == required
    assert set(adapted["properties"]) == set(properties)
    assert _arrays_have_items(adapted)
    assert tool_schema(adapted) == adapted


@pytest.mark.parametrize(
    ("schema", "adapted"),
    [
        ({}, {"type": "object", "properties": {}}),
        ({"anyOf": [{"required": ["a"]}]}, {"type": "object", "properties": {}}),
        (
            {"properties": {"a": {"type": "array"}, "b": {"enum": ["x"]}}, "required": ["b"]},
            {
                "type": "object",
                "properties": {"a": {"type": "array", "items": {}}, "b": {"enum": ["x"]}},
                "required": ["b"],
            },
        ),
        (
            {"type": "object", "properties": {"p": {"$ref": "#/$defs/P"}}, "$defs": {"P": {"type": ["array", "null"]}}},
            {
                "type": "object",
                "properties": {"p": {"$ref": "#/$defs/P"}},
                "$defs": {"P": {"type": ["array", "null"], "items": {}}},
            },
        ),
        (
            {"properties": {"t": {"type": "array", "items": [{"type": "string"}]}, "any": True}},
            {"type": "object", "properties": {"t": {"type": "array", "items": {}}, "any": {}}},
        ),
    ],
)
def test_what_providers_refuse_is_adapted(schema: dict[str, Any], adapted: dict[str, Any]) -> None:
    """Nothing at the top but an object; arrays with items; enum, required and references stay."""
    assert tool_schema(schema) == adapted


def test_a_schema_that_is_nested_without_end_is_cut() -> None:
    """A provider would refuse it, and so would the interpreter."""
    deep: dict[str, Any] = {}
    for _ in range(5000):
        deep = {"type": "array", "items": deep}
    assert tool_schema({"properties": {"a": deep}})["type"] == "object"
