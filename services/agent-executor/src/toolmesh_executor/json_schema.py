"""Checks JSON texts of requests and answers against the schemas of an agent's file."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, NoReturn

from jsonschema_rs import Draft202012Validator, FancyRegexOptions, ReferencingError, ValidationError

from toolmesh_contracts.errors import ErrorCode, ToolmeshError

__all__ = ["JsonSchema", "compiled", "without_fence"]

_MAX_PROBLEMS: Final = 10
_SHOWN: Final = 200
_REGEX: Final = FancyRegexOptions(backtrack_limit=100_000, size_limit=1 << 20, dfa_size_limit=1 << 20)
_FENCE: Final = "```"


@dataclass(frozen=True, slots=True)
class JsonSchema:
    """A schema that texts can be held against; made by `compiled`.

    Attributes:
        document: The schema.
    """

    document: Mapping[str, Any]
    _validator: Draft202012Validator

    def problem(self, text: str) -> str:
        """Return why a text is no JSON value that fits, each violation with its place; empty if it fits."""
        try:
            value = json.loads(without_fence(text))
        except (ValueError, RecursionError) as error:
            return f"it is no JSON: {error}"
        try:
            found = [_told(error) for error in islice(self._validator.iter_errors(value), _MAX_PROBLEMS)]
        except (ValueError, RecursionError) as error:
            return f"it can't be checked: {str(error)[:_SHOWN]}"
        return "; ".join(found)


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
        validator = Draft202012Validator(dict(schema), retriever=_refuse, pattern_options=_REGEX)
    except (ValidationError, ReferencingError, ValueError, RecursionError) as error:
        raise ToolmeshError(
            f"`{key}` of the agent's file is no JSON Schema that can be used: {str(error).splitlines()[0][:_SHOWN]}",
            code=ErrorCode.INVALID_CONFIGURATION,
            hint="correct it; references may only lead into the schema itself",
        ) from error
    return JsonSchema(schema, validator)


def without_fence(text: str) -> str:
    """Return a text without the code fence that models like to put around JSON."""
    lines = text.strip().splitlines()
    if len(lines) > 1 and lines[0].startswith(_FENCE) and lines[-1].strip() == _FENCE:
        return "\n".join(lines[1:-1])
    return text


def _told(error: ValidationError) -> str:
    place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.instance_path)
    return f"at ${place}: {error.message[:_SHOWN]}"


def _refuse(uri: str) -> NoReturn:
    raise ValueError(f"{uri} is outside of the schema")
