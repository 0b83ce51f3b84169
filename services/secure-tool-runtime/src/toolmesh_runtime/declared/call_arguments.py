"""A call's arguments on their way to a command: read strictly, then as JSON on stdin or as flags.

Strictly, because what Python's own reader accepts or repairs in silence would reach the command as something else than
the model has written.
"""

import json
import math
from collections.abc import Mapping
from typing import Any, Final, NoReturn

from toolmesh_contracts.errors import ErrorCode, ToolmeshError

__all__ = ["RefusedArgumentsError", "as_flags", "as_json", "read_arguments"]

_ARGUMENT_BYTES: Final = 131_071
"""Longest argument that Linux passes on (MAX_ARG_STRLEN less its NUL)."""
_FLAGS_BYTES: Final = 1 << 20
"""All flags together; Linux takes a quarter of the stack's limit for arguments and environment."""
_SHOWN: Final = 80


class RefusedArgumentsError(ToolmeshError):
    """Raised before anything runs; the message is for the model, which is to call again."""

    default_code = ErrorCode.INVALID_ARGUMENTS

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"the arguments were refused: {reason}; call the tool again with valid JSON: one object",
            hint='send an object such as {"name": "value"}',
        )


def read_arguments(data: bytes) -> dict[str, Any]:
    """Read a model's arguments.

    Raises:
        RefusedArgumentsError: no JSON object, a name given twice, a number that no float or int can hold, NaN or
            Infinity, or nested too deep.
    """
    try:
        value = json.loads(
            data.decode(),
            parse_constant=_no_constant,
            parse_float=_finite,
            object_pairs_hook=_without_repetition,
        )
    except RecursionError as error:
        raise RefusedArgumentsError("they are nested too deep") from error
    except ValueError as error:
        raise RefusedArgumentsError(f"they are no valid JSON: {str(error)[:_SHOWN]}") from error
    if not isinstance(value, dict):
        raise RefusedArgumentsError("they are no JSON object")
    return value


def as_json(arguments: Mapping[str, Any]) -> bytes:
    """Return the arguments for a command's stdin, as `json.dumps` writes them."""
    try:
        return json.dumps(arguments, allow_nan=False).encode("ascii")
    except RecursionError as error:
        raise RefusedArgumentsError("they are nested too deep") from error


def as_flags(arguments: Mapping[str, Any], properties: Mapping[str, Any]) -> tuple[str, ...]:
    """Return `--name=value` for each argument, in the call's own order.

    Args:
        arguments: What the model sent.
        properties: The declared parameters; nothing else is taken.

    Raises:
        RefusedArgumentsError: another name, or a value that no command line can hold.
    """
    if unknown := [name for name in arguments if name not in properties]:
        known = ", ".join(properties) or "none"
        raise RefusedArgumentsError(f"there is no argument {unknown[0][:_SHOWN]!r} (known: {known})")
    flags = tuple(_flag(name, value) for name, value in arguments.items())
    if sum(len(flag.encode()) + 1 for flag in flags) > _FLAGS_BYTES:
        raise RefusedArgumentsError(f"together they are longer than {_FLAGS_BYTES} bytes")
    return flags


def _flag(name: str, value: Any) -> str:
    try:
        flag = f"--{name}={value}"
        length = len(flag.encode())
    except UnicodeEncodeError as error:
        raise RefusedArgumentsError(f"{name!r} holds half of a character (a lone surrogate)") from error
    except (RecursionError, ValueError) as error:
        raise RefusedArgumentsError(f"{name!r} can't be written as text") from error
    if "\0" in flag:
        raise RefusedArgumentsError(f"{name!r} holds a NUL character")
    if length > _ARGUMENT_BYTES:
        raise RefusedArgumentsError(f"{name!r} is longer than {_ARGUMENT_BYTES} bytes")
    return flag


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise ValueError(f"the name {twice[:_SHOWN]!r} is given twice")
    return value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"the number {text[:_SHOWN]} is too large")
    return value
