"""A tool's configuration in two parts: what may travel in clear, and a list of [path, value] sealed to the pool.

A path is a list of object keys and list indexes, such as `["auth", "headers", 0]`.
"""

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from typing import Any

__all__ = ["Path", "SealedItem", "merge_config", "sealing_context", "split_config", "texts_of"]

Path = Sequence[str | int]
SealedItem = tuple[list[str | int], Any]


def split_config(config: Mapping[str, Any], secret: Iterable[Path]) -> tuple[dict[str, Any], list[SealedItem]]:
    """Take the values at the secret paths out of a configuration.

    Args:
        config: A JSON object; it is not changed.
        secret: Paths of secret values; one that is not there is passed over.

    Returns:
        The clear part, in which a secret list item is null, and the sealed part.
    """
    paths = {tuple(path) for path in secret}
    sealed: list[SealedItem] = []

    def clear(value: Any, at: tuple[str | int, ...]) -> Any:
        if isinstance(value, Mapping):
            return {key: clear(item, (*at, key)) for key, item in value.items() if not taken(item, (*at, key))}
        if isinstance(value, list):
            return [
                None if taken(item, (*at, index)) else clear(item, (*at, index)) for index, item in enumerate(value)
            ]
        return value

    def taken(value: Any, at: tuple[str | int, ...]) -> bool:
        if at not in paths:
            return False
        sealed.append((list(at), value))
        return True

    return clear(config, ()), sealed


def sealing_context(namespace: str, pool: str, invocation: str) -> bytes:
    """Return what binds a sealed configuration to one call."""
    return f"toolmesh/config/1\0{namespace}\0{pool}\0{invocation}".encode()


def merge_config(config: Mapping[str, Any], sealed: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Put sealed values into a configuration, and list the texts among them.

    Args:
        config: The clear part; it is not changed.
        sealed: A list of [path, value]; a path is a list of keys and list indexes.

    Raises:
        ValueError: `sealed` has another form, or a path leads nowhere.
    """
    merged = deepcopy(dict(config))
    secrets: list[str] = []
    if not isinstance(sealed, list):
        raise ValueError("the sealed part is no list")  # noqa: TRY004 - callers handle one kind
    for item in sealed:
        match item:
            case [[*path], value] if path:
                _put(merged, path, value)
                secrets += texts_of(value)
            case _:
                raise ValueError("an entry of the sealed part is no [path, value]")
    return merged, tuple(secrets)


def _put(container: Any, path: list[Any], value: Any) -> None:
    *parents, last = path
    try:
        for step in parents:
            container = container[step]
        container[last] = value
    except (TypeError, LookupError) as error:
        raise ValueError(f"the sealed part has a path that leads nowhere: {path!r}") from error


def texts_of(value: Any) -> list[str]:
    """Return what of a secret value could show up in a text: its texts and numbers, at any depth."""
    if isinstance(value, Mapping):
        return [text for item in value.values() for text in texts_of(item)]
    if isinstance(value, list):
        return [text for item in value for text in texts_of(item)]
    return [str(value)] if isinstance(value, str | int | float) and not isinstance(value, bool) else []
