"""Turns what models send into what a schema asks for: "5" into 5, 5.0 into 5, "[1]" into [1], null into absent."""

import json
import math
import re
from collections.abc import Mapping
from typing import Any, Final

__all__ = ["MAX_DEPTH", "NestingError", "coerce_arguments", "follow", "json_type", "takes"]

MAX_DEPTH: Final = 64
"""Deepest nesting of arguments that the worker looks into."""

_MAX_REFERENCES: Final = 8
_INTEGER: Final = re.compile(r"\s*[+-]?\d{1,40}(\.0{1,40})?\s*")
_TRUTH: Final = {"true": True, "1": True, "false": False, "0": False}
_UNCHANGED: Final = object()


class NestingError(ValueError):
    """Raised for arguments that are nested deeper than MAX_DEPTH."""


def coerce_arguments(arguments: dict[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments with those values converted that the schema can't mean as they are.

    What has no plain conversion stays, for the validation to name it.

    Raises:
        NestingError: they are nested deeper than MAX_DEPTH.
    """
    value: dict[str, Any] = _Coercion(schema).of_object(arguments, schema, 0)
    return value


def json_type(value: Any) -> str:
    """Return the name that JSON Schema has for a value's type; whole floats are numbers here."""
    if isinstance(value, bool):
        return "boolean"
    names = {str: "string", int: "integer", float: "number", list: "array", dict: "object", type(None): "null"}
    return names[type(value)]


def follow(schema: Any, root: Mapping[str, Any]) -> dict[str, Any]:
    """Return a subschema, local references followed; {} for what is none."""
    for _ in range(_MAX_REFERENCES):
        reference = schema.get("$ref") if isinstance(schema, dict) else None
        if not isinstance(reference, str):
            break
        if not reference.startswith("#/"):
            return {}
        target: Any = root
        for part in reference[2:].split("/"):
            target = target.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(target, dict) else None
        schema = target
    return schema if isinstance(schema, dict) else {}


def takes(kind: str, types: tuple[str, ...]) -> bool:
    """Tell whether a value of a JSON type fits; no types at all stand for every type."""
    return not types or kind in types or (kind == "integer" and "number" in types)


class _Coercion:
    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root

    def of(self, value: Any, schema: Any, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise NestingError(f"nested deeper than {MAX_DEPTH} levels")
        for branch in self._branches(schema):
            types = _types(branch)
            if takes(json_type(value), types):
                return self._inside(value, branch, depth)
        for branch in self._branches(schema):
            converted = _converted(value, _types(branch))
            if converted is not _UNCHANGED:
                return self._inside(converted, branch, depth)
        return self._inside(value, {}, depth)

    def of_object(self, value: dict[str, Any], schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        properties = schema.get("properties")
        known = properties if isinstance(properties, dict) else {}
        required = schema.get("required")
        needed = required if isinstance(required, list) else []
        kept = {}
        for name, item in value.items():
            if item is None and name in known and name not in needed and not self._takes_null(known[name]):
                continue  # models send null for "nothing"
            kept[name] = self.of(item, known.get(name, schema.get("additionalProperties")), depth + 1)
        return kept

    def _inside(self, value: Any, schema: dict[str, Any], depth: int) -> Any:
        if isinstance(value, dict):
            return self.of_object(value, schema, depth)
        if isinstance(value, list):
            return [self.of(item, schema.get("items"), depth + 1) for item in value]
        return value

    def _branches(self, schema: Any) -> list[dict[str, Any]]:
        found = follow(schema, self._root)
        choices = found.get("anyOf") or found.get("oneOf")
        if not isinstance(choices, list):
            return [found]
        return [follow(choice, self._root) for choice in choices]

    def _takes_null(self, schema: Any) -> bool:
        branches = self._branches(schema)
        return any(takes("null", _types(branch)) and None in branch.get("enum", [None]) for branch in branches)


def _types(schema: Mapping[str, Any]) -> tuple[str, ...]:
    given = schema.get("type")
    names = given if isinstance(given, list) else [given]
    return tuple(name for name in names if isinstance(name, str))


def _converted(value: Any, types: tuple[str, ...]) -> Any:
    if isinstance(value, str):
        for kind in types:
            converted = _from_text(value, kind)
            if converted is not _UNCHANGED:
                return converted
    elif isinstance(value, int | float) and not isinstance(value, bool):
        if "integer" in types and isinstance(value, float) and value.is_integer():
            return int(value)
        if "boolean" in types and value in (0, 1):
            return bool(value)
        if "string" in types and math.isfinite(value):
            return repr(value)
    return _UNCHANGED


def _from_text(text: str, kind: str) -> Any:
    if kind == "integer" and _INTEGER.fullmatch(text):
        return int(text.partition(".")[0])
    if kind == "number":
        return _number(text)
    if kind == "boolean":
        return _TRUTH.get(text.strip().lower(), _UNCHANGED)
    if kind in ("array", "object"):
        return _document(text, list if kind == "array" else dict)
    return _UNCHANGED


def _number(text: str) -> Any:
    if _INTEGER.fullmatch(text):
        return int(text.partition(".")[0])
    try:
        number = float(text)
    except ValueError:
        return _UNCHANGED
    return number if math.isfinite(number) else _UNCHANGED


def _document(text: str, kind: type) -> Any:
    if text.lstrip()[:1] == ("[" if kind is list else "{"):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, kind):
            return value
    # One file name where a list of them is asked for.
    return [text] if kind is list else _UNCHANGED
