"""Optional values, unions, literals and enumerations."""

# ruff: noqa: D102 - ParameterType in base.py says what schema and build do
from __future__ import annotations

from .base import ValueProblemError, json_type, problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from enum import Enum
    from typing import Any

    from toolmesh_sdk.artifacts import DeliveredArtifacts

    from .base import ParameterType, SchemaBook


class OptionalOf:
    """A type or null."""

    __slots__ = ("inner", "json_types")
    name = "optional"

    def __init__(self, inner: ParameterType) -> None:
        self.inner = inner
        self.json_types = (*inner.json_types, "null")

    def schema(self, book: SchemaBook) -> dict[str, Any]:
        schema = self.inner.schema(book)
        # Hosts know artifact parameters as plain strings and lists of them.
        if self.inner.name == "artifact" or getattr(getattr(self.inner, "inner", None), "name", "") == "artifact":
            return schema
        members = schema["anyOf"] if set(schema) == {"anyOf"} else [schema]
        return {"anyOf": [*members, {"type": "null"}]}

    def build(self, value: Any, path: str, files: DeliveredArtifacts) -> Any:
        if value is None:
            return None
        # Models write "null" where they mean it, except where text is wanted.
        if value in ("", "null") and "string" not in self.inner.json_types:
            return None
        return self.inner.build(value, path, files)


class UnionOf:
    """One of several types: the first whose own JSON form it is, else the first that can be built."""

    __slots__ = ("_members", "json_types")
    name = "union"

    def __init__(self, members: list[ParameterType]) -> None:
        self._members = members
        self.json_types = tuple(kind for member in members for kind in member.json_types)

    def schema(self, book: SchemaBook) -> dict[str, Any]:
        return {"anyOf": [member.schema(book) for member in self._members]}

    def build(self, value: Any, path: str, files: DeliveredArtifacts) -> Any:
        kind = json_type(value)
        own = [member for member in self._members if kind in member.json_types]
        own.sort(key=lambda member: member.json_types[0] != kind)
        problems = []
        for member in [*own, *(member for member in self._members if member not in own)]:
            try:
                return member.build(value, path, files)
            except ValueProblemError as found:
                problems.append(str(found))
        raise ValueProblemError(" or ".join(dict.fromkeys(problems)))


class LiteralOf:
    """One of some constants; "1" is taken for 1 when only that is allowed."""

    __slots__ = ("_values", "json_types")
    name = "literal"

    def __init__(self, values: tuple[Any, ...]) -> None:
        self._values = values
        self.json_types = tuple(dict.fromkeys(json_type(wire_value(value)) for value in values))

    def schema(self, book: SchemaBook) -> dict[str, Any]:
        kinds = list(self.json_types)
        values = [wire_value(value) for value in self._values]
        return {"type": kinds[0] if len(kinds) == 1 else kinds, "enum": values}

    def build(self, value: Any, path: str, files: DeliveredArtifacts) -> Any:
        for allowed in self._values:
            wire = wire_value(allowed)
            if wire == value and json_type(wire) == json_type(value):
                return allowed
        for allowed in self._values:
            if not isinstance(value, dict | list) and str(wire_value(allowed)).lower() == str(value).strip().lower():
                return allowed
        raise problem(path, f"one of {', '.join(repr(wire_value(entry)) for entry in self._values)}", value)


class EnumOf:
    """A member of an Enum, by its value; by its name when values are no JSON scalars, or when the name is sent."""

    __slots__ = ("_kind", "_literals", "_members")
    name = "enum"

    def __init__(self, kind: type[Enum]) -> None:
        self._kind = kind
        members = list(kind)
        by_value = all(isinstance(member.value, str | int | float) or member.value is None for member in members)
        self._members = {member.value if by_value else member.name: member for member in members}
        self._literals = LiteralOf(tuple(self._members))

    @property
    def json_types(self) -> tuple[str, ...]:
        """The types of the members' values."""
        return self._literals.json_types

    def schema(self, book: SchemaBook) -> dict[str, Any]:
        return self._literals.schema(book)

    def build(self, value: Any, path: str, files: DeliveredArtifacts) -> Any:
        if isinstance(value, str) and value in self._kind.__members__ and value not in self._members:
            return self._kind.__members__[value]
        return self._members[self._literals.build(value, path, files)]


def wire_value(value: Any) -> Any:
    """Return the JSON form of a constant."""
    while hasattr(type(value), "__members__"):
        value = value.value
    return value
