"""Standard library types that travel as text: how each is written in a schema and read from a value."""

from __future__ import annotations

from .scalars import Parsed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def text_form(kind: type) -> Parsed | None:
    """Return the text form of a type, or None when it has none here."""
    module, name = kind.__module__.partition(".")[0], kind.__name__
    if kind in (bytes, bytearray):
        return Parsed(
            lambda text: kind(_from_base64(text)), {"contentEncoding": "base64"}, "bytes in base64 (standard alphabet)"
        )
    if kind is complex:
        return Parsed(complex, {"description": "A complex number, like 1+2j."}, "a complex number like 1+2j")
    if module == "datetime":
        return _moment(kind, name)
    if (module, name) == ("uuid", "UUID"):
        return Parsed(kind, {"format": "uuid"}, "a UUID")
    if (module, name) == ("decimal", "Decimal"):
        return Parsed(lambda text: _finite(kind(text)), {}, "a decimal number", ("string", "number"))
    if module == "pathlib":
        return Parsed(kind, {"format": "path"}, "a file path")
    return None


def _moment(kind: Any, name: str) -> Parsed | None:
    if name == "timedelta":
        return Parsed(
            lambda text: kind(seconds=float(text)), {"description": "Seconds."}, "a number of seconds", ("number",)
        )
    forms = {
        "datetime": ("date-time", "a date and time like 2026-01-31T12:00:00Z"),
        "date": ("date", "a date like 2026-01-31"),
        "time": ("time", "a time of day like 12:00:00"),
    }
    if name not in forms:
        return None
    form, expected = forms[name]
    return Parsed(kind.fromisoformat, {"format": form}, expected)


def _from_base64(text: str) -> bytes:
    from base64 import b64decode

    return b64decode(text, validate=True)


def _finite(number: Any) -> Any:
    if not number.is_finite():
        raise ValueError
    return number
