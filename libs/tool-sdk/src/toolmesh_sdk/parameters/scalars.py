"""Text, numbers, truth values, and what passes as it is."""

# ruff: noqa: D102 - ParameterType in base.py says what schema and build do
from __future__ import annotations

from .base import problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from toolmesh_sdk.artifacts import DeliveredArtifacts

    from .base import SchemaBook

ANYTHING = ("string", "number", "boolean", "object", "array", "null")


class Text:
    """`str`; a number is taken as the text the model meant."""

    __slots__ = ()
    name = "text"
    json_types = ("string",)

    def schema(self, book: SchemaBook) -> dict[str, Any]:
        return {"type": "string"}

    def build(self, value: Any, path: str, files: DeliveredArtifacts) -> str:
        if isinstance(value, str):
            return value
        if isinstance(value, int | float) and not isinstance(value, bool):
            return repr(value)
        raise problem(path, "text", value)


class Integer:
    """`int`; takes "7", " 7 " and 7.0, not 7.5 and not true."""

    __slots__ = ()
    name = "integer"
    json_types = ("integer",)

    def schema(self, book: SchemaBook) -> dict[str, Any]:
        return {"type": "integer"}

    def build(self, value: Any, path: str, files: DeliveredArtifacts) -> int:
        if isinstance(value, bool):
            raise problem(path, "a whole number", value)
        if isinstance(value, int):
            return value
        if isinstance(value, str):
            try:
                return int(value)
            except ValueError:
                value = _number(value, path, "a whole number")
        if isinstance(value, float) and value.is_integer():
            return int(value)
        raise problem(path, "a whole number", value)


class Number:
    """`float`; takes integers and numeric text, not NaN or infinity."""

    __slots__ = ()
    name = "number"
    json_types = ("number", "integer")

    def schema(self, book: SchemaBook) -> dict[str, Any]:
        return {"type": "number"}

    def build(self, value: Any, path: str, files: DeliveredArtifacts) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise problem(path, "a number", value)
        return _number(value, path, "a number")


def _number(value: float | str, path: str, expected: str) -> float:
    try:
        number = float(value)
    except (ValueError, OverflowError):
        raise problem(path, expected, value) from None
    if number - number != 0:
        raise problem(path, f"{expected} that is finite", value)
    return number


class Boolean:
    """`bool`; takes true, false, 1, 0, also as text."""

    __slots__ = ()
    name = "boolean"
    json_types = ("boolean",)

    def schema(self, book: SchemaBook) -> dict[str, Any]:
        return {"type": "boolean"}

    def build(self, value: Any, path: str, files: DeliveredArtifacts) -> bool:
        if isinstance(value, bool):
            return value
        word = str(value).strip().lower()
        if isinstance(value, int | str) and word in ("true", "1", "false", "0"):
            return word in ("true", "1")
        raise problem(path, "true or false", value)


class Null:
    """`None`."""

    __slots__ = ()
    name = "null"
    json_types = ("null",)

    def schema(self, book: SchemaBook) -> dict[str, Any]:
        return {"type": "null"}

    def build(self, value: Any, path: str, files: DeliveredArtifacts) -> None:
        if value is not None:
            raise problem(path, "null", value)


class AnyValue:
    """`Any` and `object`: every JSON value, as it came."""

    __slots__ = ()
    name = "any"
    json_types = (*ANYTHING, "integer")

    def schema(self, book: SchemaBook) -> dict[str, Any]:
        return {"type": list(ANYTHING)}

    def build(self, value: Any, path: str, files: DeliveredArtifacts) -> Any:
        return value


class Opaque:
    """An annotation that says nothing about JSON (or none at all): advertised as text, passed as it came."""

    __slots__ = ()
    name = "opaque"
    json_types = ("string",)

    def schema(self, book: SchemaBook) -> dict[str, Any]:
        return {"type": "string"}

    def build(self, value: Any, path: str, files: DeliveredArtifacts) -> Any:
        return value


class Parsed:
    """A type with a text form: dates, UUID, Decimal, Path, bytes, complex.

    Args:
        parse: Makes the value from text; raises ValueError (or ArithmeticError) otherwise.
        keywords: JSON Schema beside `type`.
        expected: The words for the message.
        json_types: What is taken; numbers are passed to `parse` as text.
    """

    __slots__ = ("_expected", "_keywords", "_parse", "json_types")
    name = "parsed"

    def __init__(
        self,
        parse: Callable[[str], Any],
        keywords: dict[str, Any],
        expected: str,
        json_types: tuple[str, ...] = ("string",),
    ) -> None:
        self._parse = parse
        self._keywords = keywords
        self._expected = expected
        self.json_types = json_types

    def schema(self, book: SchemaBook) -> dict[str, Any]:
        kinds = list(self.json_types)
        return {"type": kinds[0] if len(kinds) == 1 else kinds, **self._keywords}

    def build(self, value: Any, path: str, files: DeliveredArtifacts) -> Any:
        text = repr(value) if isinstance(value, int | float) and "number" in self.json_types else value
        if not isinstance(text, str) or isinstance(value, bool):
            raise problem(path, self._expected, value)
        try:
            return self._parse(text)
        except (ValueError, ArithmeticError, TypeError):
            raise problem(path, self._expected, value) from None


TEXT = Text()
INTEGER = Integer()
NUMBER = Number()
BOOLEAN = Boolean()
NULL = Null()
ANY = AnyValue()
OPAQUE = Opaque()
