"""Checks a call's arguments against the schema that the tool advertises.

The bytes are bounded by the worker's limit and already known to be JSON; nesting, the number of problems that are
told and the work of regular expressions are bounded here, and no reference leads out of the schema.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

from toolmesh_contracts.argument_names import unknown_arguments
from toolmesh_contracts.envelopes.catalog import ArtifactParameter
from toolmesh_contracts.errors import ErrorCode, ToolmeshError
from toolmesh_contracts.schema_validator import SchemaUnusableError, SchemaValidator, first_line
from toolmesh_runtime.arguments.artifact_names import check_artifacts, with_artifact_names
from toolmesh_runtime.arguments.coercion import NestingError, coerce_arguments

__all__ = ["ArgumentRules", "CheckedArguments", "InvalidArgumentsError"]

_MOST_NAMES: Final = 10
_SHOWN: Final = 200
_OPEN: Final = frozenset(
    {
        "$ref",
        "additionalProperties",
        "allOf",
        "anyOf",
        "dependentSchemas",
        "if",
        "oneOf",
        "patternProperties",
        "propertyNames",
        "unevaluatedProperties",
    }
)
"""Keys of a schema beside which `properties` is not the whole list of names."""


class InvalidArgumentsError(ToolmeshError):
    """Raised when arguments can't be what the tool asks for."""

    default_code = ErrorCode.INVALID_ARGUMENTS


@dataclass(frozen=True, slots=True)
class CheckedArguments:
    """Arguments as the tool gets them.

    Attributes:
        data: JSON; the bytes that came, if nothing had to be changed.
        notes: What was left out, for the caller.
    """

    data: bytes
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentRules:
    """What one tool takes.

    Attributes:
        parameters: Its JSON Schema.
        artifact_params: Its artifact parameters.
        strict: Only missing arguments are refused; everything else is the tool's own business.
        unusable: Why the schema can't be checked against; empty when it can.
    """

    parameters: Mapping[str, Any]
    artifact_params: Mapping[str, ArtifactParameter]
    strict: bool = False
    unusable: str = ""
    _validator: SchemaValidator | None = field(default=None, compare=False, repr=False)

    @classmethod
    def of(
        cls, parameters: Mapping[str, Any], artifact_params: Mapping[str, ArtifactParameter], *, strict: bool
    ) -> "ArgumentRules":
        """Compile a tool's schema; one that is no JSON Schema leaves only its `required` list in force."""
        validator, unusable = None, ""
        if not strict:
            try:
                validator = SchemaValidator.of(parameters)
            except SchemaUnusableError as error:
                unusable = str(error)
        return cls(
            parameters=parameters,
            artifact_params=artifact_params,
            strict=strict,
            unusable=unusable,
            _validator=validator,
        )

    def check(self, tool: str, data: bytes, files: Mapping[str, str]) -> CheckedArguments:
        """Return the arguments as the tool is to get them.

        Args:
            tool: The tool's name, for messages.
            data: A JSON object.
            files: File name by key (`name`, or `name[i]`) of the artifacts that came with the call.

        Raises:
            InvalidArgumentsError: one is missing or can't be what the schema asks for; all are named.
            MissingArtifactError: a file that they name did not come along.
        """
        try:
            sent = _read(data)
            arguments = with_artifact_names(sent, self.artifact_params, files)
            notes: tuple[str, ...] = ()
            if not self.strict:
                arguments = coerce_arguments(arguments, self.parameters)
                arguments, notes = self._without_unknown(tool, arguments)
            problems = self._missing(arguments, sent) or self._problems(arguments)
        except (ValueError, RecursionError) as error:
            reason = str(error) if isinstance(error, NestingError) else first_line(str(error)) or "nested too deep"
            raise InvalidArgumentsError(f"{tool}: the arguments can't be used: {reason}") from error
        if problems:
            raise InvalidArgumentsError(f"{tool}: {'; '.join(problems)}", hint=self._takes())
        if not self.strict:
            check_artifacts(tool, arguments, self.artifact_params, files)
        return CheckedArguments(
            data if arguments == sent and _same_types(arguments, sent) else _write(arguments), notes
        )

    def _without_unknown(self, tool: str, arguments: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
        known = self.parameters.get("properties")
        if not isinstance(known, dict) or self.parameters.keys() & _OPEN:
            return arguments, ()
        unknown = [name for name in arguments if name not in known]
        if not unknown:
            return arguments, ()
        names = ", ".join(repr(name[:_SHOWN]) for name in unknown[:_MOST_NAMES])
        kept = {name: value for name, value in arguments.items() if name in known}
        return kept, (f"{tool} has no argument {names}; left out. {self._takes()}",)

    def _takes(self) -> str:
        known = self.parameters.get("properties")
        names = ", ".join(list(known)[:50]) if isinstance(known, dict) else ""
        return f"it takes: {names}" if names else "it takes no arguments"

    def _missing(self, arguments: Mapping[str, Any], sent: Mapping[str, Any]) -> list[str]:
        required = self.parameters.get("required")
        missing = [str(name) for name in required if name not in arguments] if isinstance(required, list) else []
        if not missing:
            return []
        unknown = unknown_arguments(sent, arguments, missing)
        told = f"missing required argument{'s' * (len(missing) > 1)} {', '.join(missing)}"
        return [told, unknown] if unknown else [told]

    def _problems(self, arguments: dict[str, Any]) -> list[str]:
        return [] if self._validator is None else self._validator.problems(arguments)


def _read(data: bytes) -> dict[str, Any]:
    def refuse(name: str) -> NoReturn:
        raise ValueError(f"{name} is not JSON")

    def number(text: str) -> float:
        value = float(text)
        if not math.isfinite(value):
            raise ValueError("a number is too large")
        return value

    value = json.loads(data, parse_constant=refuse, parse_float=number)
    if not isinstance(value, dict):
        raise ValueError("no JSON object")  # noqa: TRY004 - one kind of error for the caller
    return value


def _write(arguments: dict[str, Any]) -> bytes:
    return json.dumps(arguments, allow_nan=False, separators=(",", ":")).encode("ascii")


def _same_types(left: Any, right: Any) -> bool:
    """Tell equal values of equal types from those that Python calls equal, such as 5 and 5.0."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return all(_same_types(left[key], right[key]) for key in left)
    if isinstance(left, list):
        return all(map(_same_types, left, right))
    return True
