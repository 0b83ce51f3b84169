"""A tool's JSON Schema in the form that all providers take; what is left out, the worker still checks.

OpenAI refuses arrays without `items`, lists as `items`, and top levels other than a plain object (guide "Function
calling", 2026); Anthropic refuses combinators at the top level (guide "Tool use", 2026).
"""

from collections.abc import Mapping
from typing import Any, Final

__all__ = ["tool_schema"]

_NOT_AT_THE_TOP: Final = frozenset({"$id", "$schema", "allOf", "anyOf", "const", "enum", "oneOf"})
_NOWHERE: Final = frozenset({"else", "if", "not", "prefixItems", "then", "unevaluatedItems", "unevaluatedProperties"})
"""Wider parts would make these narrower."""
_ONE_SCHEMA: Final = frozenset({"additionalProperties", "contains", "items", "propertyNames"})
_LISTS: Final = frozenset({"allOf", "anyOf"})
_MAPPINGS: Final = frozenset({"$defs", "definitions", "properties"})
_DEEPEST: Final = 64


def tool_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema that providers take and that lets through whatever `schema` does.

    Names, `required`, `enum`, descriptions and `$defs` stay. Deeper than 64 levels everything is let through.
    """
    adapted = _adapted({key: value for key, value in schema.items() if key not in _NOT_AT_THE_TOP}, 0)
    return {**adapted, "type": "object", "properties": adapted.get("properties", {})}


def _adapted(schema: Any, depth: int) -> dict[str, Any]:
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return {}  # `true` as well as what is no schema; of `false` nothing can be said to a provider
    adapted = {key: _value(key, value, depth) for key, value in schema.items() if key not in _NOWHERE}
    # Of two wider branches more than one may fit.
    if isinstance(one_of := adapted.pop("oneOf", None), list):
        adapted.setdefault("anyOf", [_adapted(one, depth + 1) for one in one_of])
    if _is_array(schema) and ("prefixItems" in schema or not isinstance(adapted.get("items"), dict)):
        adapted["items"] = {}
    return adapted


def _value(key: str, value: Any, depth: int) -> Any:
    if key in _ONE_SCHEMA and isinstance(value, Mapping | list):
        # A list of schemas by position, as drafts before 2020-12 have it, has no equivalent.
        return {} if isinstance(value, list) else _adapted(value, depth + 1)
    if key in _LISTS and isinstance(value, list):
        return [_adapted(one, depth + 1) for one in value]
    if key in _MAPPINGS and isinstance(value, Mapping):
        return {name: _adapted(one, depth + 1) for name, one in value.items()}
    return value


def _is_array(schema: Mapping[str, Any]) -> bool:
    kind = schema.get("type")
    return kind == "array" or (isinstance(kind, list) and "array" in kind) or "prefixItems" in schema
