"""Turning what tools return into JSON: dates, sets, models and the like are written, nonsense is named by its place."""

from __future__ import annotations

from json import dumps

from .errors import ResultNotSerialisableError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_DEEPEST = 200


def encode(value: Any, root: str = "result") -> tuple[str, list[str]]:
    """Return JSON in ASCII and notes on what had to be changed (NaN to null).

    Raises:
        ResultNotSerialisableError: JSON cannot carry it; the message says where it sits.
    """
    try:
        text = dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        pass
    else:
        # A lone surrogate is valid to json but to no UTF-8 reader; the escape shows that there may be one.
        if "\\ud" not in text:
            return text, []
    writer = _Plain()
    return dumps(writer.value(value, root, 0), allow_nan=False), writer.notes


def plain(value: Any, root: str = "value") -> Any:
    """Return `value` as JSON values.

    Raises:
        ResultNotSerialisableError: JSON cannot carry it.
    """
    return _Plain().value(value, root, 0)


class _Plain:
    __slots__ = ("_open", "notes")

    def __init__(self) -> None:
        self.notes: list[str] = []
        self._open: set[int] = set()

    def value(self, value: Any, place: str, depth: int) -> Any:
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return self._text(value, place)
        if isinstance(value, int):
            return int(value)
        if isinstance(value, float):
            return self._number(value, place)
        if isinstance(value, dict | list | tuple | set | frozenset):
            return self._container(value, place, depth)
        return self._object(value, place, depth)

    def _text(self, value: str, place: str) -> str:
        text = str.__str__(value)
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            self.notes.append(f"{place} held broken text; the broken characters were replaced")
            return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return text

    def _number(self, value: float, place: str) -> float | None:
        if value - value == 0:
            return float(value)
        self.notes.append(f"{place} was {value}; it is sent as null, because JSON has no such number")
        return None

    def _container(self, value: Any, place: str, depth: int) -> Any:
        if id(value) in self._open:
            raise ResultNotSerialisableError(f"{place} contains itself; return a tree, not a circle")
        if depth > _DEEPEST:
            raise ResultNotSerialisableError(f"{place[:80]}... is nested deeper than {_DEEPEST} levels")
        self._open.add(id(value))
        if isinstance(value, dict):
            made: Any = {
                self._key(key, place): self.value(entry, f"{place}.{key}", depth + 1) for key, entry in value.items()
            }
        else:
            entries = sorted(value, key=str) if isinstance(value, set | frozenset) else value
            made = [self.value(entry, f"{place}[{number}]", depth + 1) for number, entry in enumerate(entries)]
        self._open.discard(id(value))
        return made

    def _key(self, key: Any, place: str) -> str | int | float | bool | None:
        if key is None or isinstance(key, str | int | float | bool):
            return self._text(key, place) if isinstance(key, str) else key
        converted = self._scalar(key)
        if isinstance(converted, str):
            return converted
        raise ResultNotSerialisableError(
            f"{place} has the key {key!r} of type {type(key).__name__}; JSON keys are text"
        )

    def _object(self, value: Any, place: str, depth: int) -> Any:
        scalar = self._scalar(value)
        if scalar is not value:
            return self.value(scalar, place, depth)
        for name, options in (("to_serializable", {}), ("model_dump", {"mode": "json"}), ("tolist", {})):
            method = getattr(value, name, None)
            if callable(method) and not isinstance(value, type):
                return self.value(method(**options), place, depth + 1)
        if fields := getattr(type(value), "__dataclass_fields__", None):
            return self._container({name: getattr(value, name) for name in fields}, place, depth)
        return self._by_its_text(value, place)

    def _scalar(self, value: Any) -> Any:
        """Return the JSON form of a well-known scalar, or the value itself."""
        if isinstance(value, bytes | bytearray | memoryview):
            return bytes_as_text(bytes(value))
        module, name = type(value).__module__, type(value).__name__
        if module == "datetime" and name in ("datetime", "date", "time"):
            return value.isoformat()
        if module == "datetime" and name == "timedelta":
            return value.total_seconds()
        if hasattr(type(value), "__members__"):
            return value.value
        if module in ("uuid", "decimal", "fractions", "ipaddress") or hasattr(value, "__fspath__"):
            return str(value)
        return value

    def _by_its_text(self, value: Any, place: str) -> str:
        kind = type(value)
        if hasattr(value, "send") and hasattr(value, "close"):
            raise ResultNotSerialisableError(f"{place} is a {kind.__name__} that was never awaited or read")
        # The default text of an object names an address: that is a mistake, never an answer.
        if isinstance(value, type) or not {"__str__", "__repr__"} & _own_names(kind):
            raise ResultNotSerialisableError(f"{place} is a {kind.__name__}, which JSON cannot carry")
        if callable(value):
            raise ResultNotSerialisableError(f"{place} is a function, which JSON cannot carry")
        return self._text(str(value), place)


def _own_names(kind: type) -> set[str]:
    return {name for base in kind.__mro__ if base is not object for name in base.__dict__}


def bytes_as_text(content: bytes) -> str:
    """Return UTF-8 bytes as their text and others as base64."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        from base64 import b64encode

        return b64encode(content).decode("ascii")
