"""JSON objects in which nothing is ambiguous (RFC 8259 leaves duplicated keys to the reader)."""

import json
from typing import Any


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a key occurs twice")
    return result


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def parse_object(data: bytes) -> dict[str, Any]:
    """Parse one JSON object in UTF-8.

    Raises:
        ValueError: For anything else: a key twice at any depth, NaN, too deep nesting, another type, another charset.
    """
    try:
        value = json.loads(data.decode("utf-8"), object_pairs_hook=_once, parse_constant=_no_constant)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")  # noqa: TRY004 - the caller's one error for bad content
    return value
