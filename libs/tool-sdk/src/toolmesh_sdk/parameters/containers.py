"""Lists, sets, tuples and mappings."""

# ruff: noqa: D102 - ParameterType in base.py says what schema and build do
from __future__ import annotations

from .base import ValueProblemError, decoded, problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from toolmesh_sdk.artifacts import DeliveredArtifacts

    from .base import ParameterType, SchemaBook


class ListOf:
    """A list, set, deque or variable tuple of one type.

    Args:
        inner: The type of the entries.
        make: Makes the container from the list of built entries.
        unique: True for sets.
    """

    __slots__ = ("_make", "_unique", "inner")
    name = "list"
    json_types = ("array",)

    def __init__(self, inner: ParameterType, make: Callable[[list[Any]], Any] = list, unique: bool = False) -> None:
        self.inner = inner
        self._make = make
        self._unique = unique

    def schema(self, book: SchemaBook) -> dict[str, Any]:
        schema = {"type": "array", "items": self.inner.schema(book)}
        return {**schema, "uniqueItems": True} if self._unique else schema

    def build(self, value: Any, path: str, files: DeliveredArtifacts) -> Any:
        value = decoded(value, "[")
        if isinstance(value, str) and self.inner.name == "artifact":
            value = [value]
        if not isinstance(value, list):
            raise problem(path, "a list", value)
        entries = [self.inner.build(entry, f"{path}[{number}]", files) for number, entry in enumerate(value)]
        try:
            return self._make(entries)
        except TypeError:
            raise ValueProblemError(f"{path} must hold values that can be in a set") from None


class TupleOf:
    """A tuple of fixed length."""

    __slots__ = ("_items",)
    name = "tuple"
    json_types = ("array",)

    def __init__(self, items: list[ParameterType]) -> None:
        self._items = items

    def schema(self, book: SchemaBook) -> dict[str, Any]:
        count = len(self._items)
        items = [item.schema(book) for item in self._items]
        return {"type": "array", "prefixItems": items, "minItems": count, "maxItems": count}

    def build(self, value: Any, path: str, files: DeliveredArtifacts) -> tuple[Any, ...]:
        value = decoded(value, "[")
        if not isinstance(value, list) or len(value) != len(self._items):
            raise problem(path, f"a list of {len(self._items)} values", value)
        pairs = enumerate(zip(self._items, value, strict=True))
        return tuple(item.build(entry, f"{path}[{number}]", files) for number, (item, entry) in pairs)


class MappingOf:
    """A mapping from text to one type; keys of another type are built from their text."""

    __slots__ = ("_keys", "_values")
    name = "mapping"
    json_types = ("object",)

    def __init__(self, keys: ParameterType, values: ParameterType) -> None:
        self._keys = keys
        self._values = values

    def schema(self, book: SchemaBook) -> dict[str, Any]:
        # Of `dict` nothing is known about the values, and {"type": "object"} says just that.
        if self._values.name == "any":
            return {"type": "object"}
        return {"type": "object", "additionalProperties": self._values.schema(book)}

    def build(self, value: Any, path: str, files: DeliveredArtifacts) -> dict[Any, Any]:
        value = decoded(value, "{")
        if not isinstance(value, dict):
            raise problem(path, "an object", value)
        return {
            self._keys.build(key, f"the key {key!r} of {path}", files): self._values.build(
                entry, f"{path}[{key}]", files
            )
            for key, entry in value.items()
        }
