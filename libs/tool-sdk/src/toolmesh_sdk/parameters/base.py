"""What every parameter type shares: the schema under construction, problems with a place, JSON's own type names."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Hashable
    from typing import Any, Protocol

    from toolmesh_sdk.artifacts import DeliveredArtifacts

    from .unknown import Unknown

    class ParameterType(Protocol):
        """One parameter type."""

        @property
        def name(self) -> str:
            """What kind of type this is, for code that treats some kinds apart."""

        @property
        def json_types(self) -> tuple[str, ...]:
            """JSON types that are this type's own form."""

        def schema(self, book: SchemaBook) -> dict[str, Any]:
            """Return a new JSON Schema; recursive parts go to the book."""

        def build(self, value: Any, path: str, files: DeliveredArtifacts) -> Any:
            """Return the typed value for a JSON value; raises ValueProblemError."""


MISSING: Any = type("MISSING", (), {"__repr__": lambda _self: "MISSING"})()


class ValueProblemError(Exception):
    """A value does not fit; the message names the place, what was expected and what came."""


def problem(path: str, expected: str, value: object) -> ValueProblemError:
    """Return the problem of a value that is not what the place takes."""
    shown = repr(value)
    return ValueProblemError(f"{path} must be {expected}, got {shown if len(shown) <= 80 else shown[:77] + '...'}")


def json_type(value: object) -> str:
    """Return JSON's name for a decoded value's type."""
    if value is None:
        return "null"
    for kind, name in ((bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"), (list, "array")):
        if isinstance(value, kind):
            return name
    return "object"


def decoded(value: object, opening: str) -> object:
    """Return the value inside a text that holds JSON, because models often quote objects and lists."""
    if isinstance(value, str) and value.lstrip().startswith(opening):
        from json import loads

        try:
            return loads(value)
        except ValueError:
            return value
    return value


class SchemaBook:
    """The definitions that a parameters schema refers to, and the annotations in it that say nothing."""

    __slots__ = ("_names", "_open", "definitions", "unknown")

    def __init__(self) -> None:
        self.definitions: dict[str, dict[str, Any]] = {}
        self.unknown: list[Unknown] = []
        self._names: dict[Hashable, str] = {}
        self._open: list[Hashable] = []

    def is_open(self, key: Hashable) -> bool:
        """Say whether a type's schema is being written now, so that it must refer to itself."""
        return key in self._open

    def is_referred(self, key: Hashable) -> bool:
        """Say whether someone refers to this type."""
        return key in self._names

    def reference(self, key: Hashable, name: str) -> dict[str, Any]:
        """Return a reference to a type, under a name of its own."""
        if key not in self._names:
            self._names[key] = self._free_name(name)
            self.definitions.setdefault(self._names[key], {})
        return {"$ref": f"#/$defs/{self._names[key]}"}

    def open(self, key: Hashable) -> None:
        """Note that a type's schema is being written."""
        self._open.append(key)

    def close(self, key: Hashable, name: str, body: dict[str, Any]) -> dict[str, Any]:
        """Return the finished schema in place, or a reference when it refers to itself."""
        self._open.remove(key)
        if key not in self._names:
            return body
        reference = self.reference(key, name)
        self.definitions[self._names[key]] = body
        return reference

    def adopt(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Take over the `$defs` of a schema that was made elsewhere; return the rest."""
        foreign: dict[str, dict[str, Any]] = schema.pop("$defs", {})
        renamed = {}
        for name, body in foreign.items():
            if name in self.definitions and self.definitions[name] != body:
                renamed[f"#/$defs/{name}"] = f"#/$defs/{self._free_name(name)}"
        for name, body in foreign.items():
            target = renamed.get(f"#/$defs/{name}", f"#/$defs/{name}")
            self.definitions[target.removeprefix("#/$defs/")] = _renamed(body, renamed)
        adopted: dict[str, Any] = _renamed(schema, renamed)
        return adopted

    def _free_name(self, name: str) -> str:
        number, free = 2, name
        while free in self.definitions:
            free, number = f"{name}{number}", number + 1
        return free


def _renamed(schema: Any, names: dict[str, str]) -> Any:
    if isinstance(schema, dict):
        return {
            key: names.get(value, value) if key == "$ref" and isinstance(value, str) else _renamed(value, names)
            for key, value in schema.items()
        }
    return [_renamed(entry, names) for entry in schema] if isinstance(schema, list) else schema
