"""`Annotated[...]`: descriptions and limits, as plain text, `annotated_types` and pydantic's `Field` write them."""

# ruff: noqa: D102 - ParameterType in base.py says what schema and build do
from __future__ import annotations

from .base import problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from toolmesh_sdk.artifacts import DeliveredArtifacts

    from .base import ParameterType, SchemaBook

_LIMITS = ("gt", "ge", "lt", "le", "multiple_of", "min_length", "max_length", "pattern")
_KEYWORDS = {"gt": "exclusiveMinimum", "ge": "minimum", "lt": "exclusiveMaximum", "le": "maximum"}
_LENGTHS = {"array": "Items", "object": "Properties"}


class Constrained:
    """A type with a description and limits.

    Args:
        inner: The type.
        metadata: What stands behind it in `Annotated`.
    """

    __slots__ = ("_description", "_examples", "_limits", "inner")

    def __init__(self, inner: ParameterType, metadata: Iterable[Any]) -> None:
        self.inner = inner
        self._limits: dict[str, Any] = {}
        self._description = ""
        self._examples: list[Any] = []
        for entry in metadata:
            self._read(entry)

    @property
    def name(self) -> str:
        """That of the inner type, because a description changes nothing about what it is."""
        return self.inner.name

    @property
    def json_types(self) -> tuple[str, ...]:
        """Those of the inner type."""
        return self.inner.json_types

    def _read(self, entry: Any) -> None:
        if isinstance(entry, str):
            self._description = entry
            return
        text = getattr(entry, "description", None) or getattr(entry, "documentation", None)
        if isinstance(text, str):
            self._description = text
        examples = getattr(entry, "examples", None)
        if isinstance(examples, list):
            self._examples = examples
        for limit in _LIMITS:
            value = getattr(entry, limit, None)
            if value is not None:
                self._limits[limit] = value
        for nested in getattr(entry, "metadata", None) or ():
            self._read(nested)

    def schema(self, book: SchemaBook) -> dict[str, Any]:
        schema = self.inner.schema(book)
        kind = self.inner.json_types[0]
        for limit, value in self._limits.items():
            if isinstance(value, str | int | float):
                schema[_keyword(limit, kind)] = value
        if self._examples:
            schema["examples"] = self._examples
        if self._description:
            schema["description"] = self._description
        return schema

    def build(self, value: Any, path: str, files: DeliveredArtifacts) -> Any:
        built = self.inner.build(value, path, files)
        for limit, bound in self._limits.items():
            if built is not None and not _holds(limit, bound, built):
                raise problem(path, f"a value with {_keyword(limit, self.inner.json_types[0])} {bound}", value)
        return built


def _keyword(limit: str, kind: str) -> str:
    if limit in _KEYWORDS:
        return _KEYWORDS[limit]
    if limit in ("min_length", "max_length"):
        return limit[:3] + _LENGTHS.get(kind, "Length")
    return {"multiple_of": "multipleOf"}.get(limit, limit)


def _holds(limit: str, bound: Any, value: Any) -> bool:
    if limit == "gt":
        return bool(value > bound)
    if limit == "ge":
        return bool(value >= bound)
    if limit == "lt":
        return bool(value < bound)
    if limit == "le":
        return bool(value <= bound)
    if limit == "multiple_of":
        return bool(value % bound == 0)
    if limit == "pattern":
        from re import search

        return search(bound, str(value)) is not None
    return bool(len(value) >= bound if limit == "min_length" else len(value) <= bound)
