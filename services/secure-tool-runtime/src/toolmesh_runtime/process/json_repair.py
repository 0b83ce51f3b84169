"""Reads JSON as tools really write it, and makes it valid."""

import json
import math
from dataclasses import dataclass
from typing import Any, Final

__all__ = ["RepairedJson", "read_json", "to_json"]

_MAX_DEPTH: Final = 200
NON_FINITE_NOTE: Final = "NaN or Infinity in the result became null"
ENCODING_NOTE: Final = "text in the result that is not valid UTF-8 was replaced"


@dataclass(frozen=True, slots=True)
class RepairedJson:
    """A JSON value, and notes on what was changed to make it one."""

    value: Any
    notes: tuple[str, ...]


def read_json(data: bytes) -> RepairedJson:
    """Read JSON; NaN and Infinity become null, bytes and surrogates that are no text become U+FFFD.

    Raises:
        ValueError: `data` is no JSON even so, or is nested deeper than 200 levels.
    """
    notes = []
    text = data.decode("utf-8", errors="replace")
    if "\ufffd" in text and b"\xef\xbf\xbd" not in data:
        notes.append(ENCODING_NOTE)
    non_finite = False

    def constant(_name: str) -> None:
        nonlocal non_finite
        non_finite = True

    def number(literal: str) -> float | None:
        value = float(literal)
        if math.isfinite(value):
            return value
        constant(literal)
        return None

    try:
        value = json.loads(text, parse_constant=constant, parse_float=number)
        clean = _without_surrogates(value, 0)
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error
    if non_finite:
        notes.append(NON_FINITE_NOTE)
    if clean != value and ENCODING_NOTE not in notes:
        notes.append(ENCODING_NOTE)
    return RepairedJson(clean, tuple(notes))


def _without_surrogates(value: Any, depth: int) -> Any:
    if depth > _MAX_DEPTH:
        raise ValueError(f"it is nested deeper than {_MAX_DEPTH} levels")
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", errors="replace").decode()
    if isinstance(value, list):
        return [_without_surrogates(item, depth + 1) for item in value]
    if isinstance(value, dict):
        return {_without_surrogates(key, 0): _without_surrogates(item, depth + 1) for key, item in value.items()}
    return value


def to_json(value: Any) -> bytes:
    """Return compact UTF-8 JSON of a value that `read_json` gave."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
