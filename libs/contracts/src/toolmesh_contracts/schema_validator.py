"""Holds values against a JSON Schema (draft 2020-12), bounded: regular expressions, problems told, and references.

The nesting of values is the caller's to bound; what is nested too deep for the library is told, not raised.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, NoReturn

from jsonschema_rs import Draft202012Validator, FancyRegexOptions, ReferencingError, ValidationError

__all__ = ["SchemaUnusableError", "SchemaValidator", "first_line"]

_MOST_PROBLEMS: Final = 10
_SHOWN: Final = 200
_REGEX: Final = FancyRegexOptions(backtrack_limit=100_000, size_limit=1 << 20, dfa_size_limit=1 << 20)


class SchemaUnusableError(ValueError):
    """Raised for what is no JSON Schema, or refers to something outside of itself."""


@dataclass(frozen=True, slots=True)
class SchemaValidator:
    """A schema that values can be held against; made by `of`."""

    _validator: Draft202012Validator

    @classmethod
    def of(cls, schema: Mapping[str, Any]) -> "SchemaValidator":
        """Compile a schema.

        Raises:
            SchemaUnusableError: it can't be used; the text says why, in one line.
        """
        try:
            return cls(Draft202012Validator(dict(schema), retriever=_refuse, pattern_options=_REGEX))
        except (ValidationError, ReferencingError, ValueError, RecursionError) as error:
            raise SchemaUnusableError(first_line(str(error))) from error

    def problems(self, value: Any) -> list[str]:
        """Return why a JSON value does not fit, each violation with its place, at most ten; empty if it fits.

        Raises:
            ValueError: it can't be checked.
            RecursionError: it is nested too deep.
        """
        return [_told(error) for error in islice(self._validator.iter_errors(value), _MOST_PROBLEMS)]


def first_line(text: str) -> str:
    """Return the first line of a library's message, cut to what a person reads."""
    first = text.strip().split("\n", 1)[0]
    return first if len(first) <= _SHOWN else f"{first[:_SHOWN]}..."


def _told(error: ValidationError) -> str:
    path = ""
    for part in error.instance_path:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else str(part)
    text = first_line(error.message)
    return f"{path[:_SHOWN]}: {text}" if path else text


def _refuse(uri: str) -> NoReturn:
    raise ValueError(f"a reference leads out of the schema: {uri}")
