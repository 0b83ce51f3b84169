"""What an unquoted YAML scalar means: the core schema of YAML 1.2, without its traps.

`on`, `yes` and `1:30` are text. `012` (octal in YAML 1.1, twelve in 1.2), infinities and NaN are refused.
"""

import math
import re
from typing import Final

__all__ = ["AmbiguousScalarError", "resolve_plain", "resolve_variable"]

_NULL: Final = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLEAN: Final = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INTEGER = re.compile(r"[-+]?[0-9]+")
_BASED = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_LEADING_ZERO = re.compile(r"[-+]?0[0-9]+")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_CANONICAL_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,17})?")
_SMALLEST: Final = -(2**63)
_LARGEST: Final = 2**64 - 1


class AmbiguousScalarError(ValueError):
    """Raised for an unquoted scalar that different YAML readers take for different values."""


def resolve_plain(text: str) -> str | int | float | bool | None:
    """Return the value of an unquoted scalar.

    Raises:
        AmbiguousScalarError: the message says how to write what was meant.
    """
    if text in _NULL:
        return None
    if text in _BOOLEAN:
        return _BOOLEAN[text]
    if _LEADING_ZERO.fullmatch(text):
        raise AmbiguousScalarError("a number with a leading zero is ambiguous: quote it for text, 0o… is octal")
    if _INTEGER.fullmatch(text) or _BASED.fullmatch(text):
        return _integer(text)
    if _NOT_FINITE.fullmatch(text):
        raise AmbiguousScalarError("an infinity or NaN has no JSON form: quote it for text, or give a number")
    if _FLOAT.fullmatch(text):
        number = float(text)
        if not math.isfinite(number):
            raise AmbiguousScalarError("the number is too large: quote it for text")
        return number
    return text


def resolve_variable(text: str) -> str | int | float | bool:
    """Return what a variable's value means where it is the whole of an unquoted scalar.

    Only `true`, `false` and numbers in their shortest form are read; all else (`007`, `1e5`, `null`) stays text.
    """
    if text in {"true", "false"}:
        return text == "true"
    if not _CANONICAL_NUMBER.fullmatch(text):
        return text
    number = float(text) if "." in text else int(text)
    return number if str(number) == text else text


def _integer(text: str) -> int:
    if len(text) > len(str(_LARGEST)) + 2:
        raise AmbiguousScalarError("the number is over 64 bits: quote it for text")
    number = int(text, 0) if _BASED.fullmatch(text) else int(text)
    if not _SMALLEST <= number <= _LARGEST:
        raise AmbiguousScalarError("the number is over 64 bits: quote it for text")
    return number
