"""Replaces the embeds in a tool call's arguments."""

import json
from collections.abc import Callable, Collection
from typing import Any, Final

__all__ = ["replace_in_arguments"]

_DEEPEST: Final = 10


def replace_in_arguments(arguments: bytes, raw: Collection[str], replace: Callable[[str], str]) -> bytes:
    """Return a call's arguments with each text in them replaced, in lists and mappings too; keys stay.

    Texts more than ten levels below an argument stay. Arguments without a change, and what is no JSON object, come
    back byte for byte.

    Args:
        arguments: A JSON object.
        raw: Arguments that stay as they are.
        replace: Returns what a text becomes.
    """
    try:
        given = json.loads(arguments)
        if not isinstance(given, dict):
            return arguments
        made = {name: value if name in raw else _replaced(value, replace, 0) for name, value in given.items()}
        # Not a number in JSON, though Python reads it.
        return arguments if made == given else json.dumps(made, allow_nan=False).encode()
    except (ValueError, RecursionError):
        return arguments


def _replaced(value: Any, replace: Callable[[str], str], depth: int) -> Any:
    if isinstance(value, str):
        return replace(value)
    if depth == _DEEPEST:
        return value
    if isinstance(value, list):
        return [_replaced(one, replace, depth + 1) for one in value]
    if isinstance(value, dict):
        return {key: _replaced(one, replace, depth + 1) for key, one in value.items()}
    return value
