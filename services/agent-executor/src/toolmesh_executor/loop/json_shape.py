"""The shape of a JSON value, in place of a value that is too long for a model: half of it would mislead."""

from typing import Any, Final

__all__ = ["json_shape"]

_MOST_KEYS: Final = 20
_LONGEST_KEY: Final = 60
_KINDS: Final[dict[type, str]] = {bool: "boolean", int: "integer", float: "number", str: "string"}


def json_shape(value: Any, depth: int) -> Any:
    """Return the kinds of a value's parts under its keys.

    Args:
        value: Parsed JSON.
        depth: How many levels are told apart.
    """
    if isinstance(value, dict):
        if depth == 0:
            return f"object of {len(value)} keys"
        shown = list(value.items())[:_MOST_KEYS]
        shape = {str(key)[:_LONGEST_KEY]: json_shape(part, depth - 1) for key, part in shown}
        return shape | ({"...": f"{len(value) - len(shown)} more keys"} if len(value) > len(shown) else {})
    if isinstance(value, list):
        if depth == 0 or not value:
            return f"list of {len(value)}"
        return [json_shape(value[0], depth - 1), f"list of {len(value)}, the first is shown"]
    return _KINDS.get(type(value), "null")
