"""Checks JSON texts of requests and answers against the schemas of an agent's file."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from toolmesh_contracts.errors import ErrorCode, ToolmeshError
from toolmesh_contracts.schema_validator import SchemaUnusableError, SchemaValidator, first_line

__all__ = ["JsonSchema", "compiled", "without_fence"]

_FENCE: Final = "```"


@dataclass(frozen=True, slots=True)
class JsonSchema:
    """A schema that texts can be held against; made by `compiled`.

    Attributes:
        document: The schema.
    """

    document: Mapping[str, Any]
    _validator: SchemaValidator

    def problem(self, text: str) -> str:
        """Return why a text is no JSON value that fits, each violation with its place; empty if it fits."""
        try:
            value = json.loads(without_fence(text))
        except (ValueError, RecursionError) as error:
            return f"it is no JSON: {error}"
        try:
            return "; ".join(self._validator.problems(value))
        except (ValueError, RecursionError) as error:
            return f"it can't be checked: {first_line(str(error))}"


def compiled(schema: Mapping[str, Any] | None, key: str) -> JsonSchema | None:
    """Return a schema of an agent's file, ready to be used; None without one.

    Args:
        schema: What the file says under `key`.
        key: For messages.

    Raises:
        ToolmeshError: it is no JSON Schema, or refers to something outside of itself.
    """
    if schema is None:
        return None
    try:
        return JsonSchema(schema, SchemaValidator.of(schema))
    except SchemaUnusableError as error:
        raise ToolmeshError(
            f"`{key}` of the agent's file is no JSON Schema that can be used: {error}",
            code=ErrorCode.INVALID_CONFIGURATION,
            hint="correct it; references may only lead into the schema itself",
        ) from error


def without_fence(text: str) -> str:
    """Return a text without the code fence that models like to put around JSON."""
    lines = text.strip().splitlines()
    if len(lines) > 1 and lines[0].startswith(_FENCE) and lines[-1].strip() == _FENCE:
        return "\n".join(lines[1:-1])
    return text
