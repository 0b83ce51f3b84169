"""Arguments of a wrong name, told with the right one."""

from collections.abc import Collection
from typing import Final

from toolmesh_contracts.config_problems import nearest

__all__ = ["unknown_arguments"]

_MOST: Final = 20
_SHOWN: Final = 60


def unknown_arguments(given: Collection[str], known: Collection[str], missing: Collection[str]) -> str:
    """Return a text that names the given arguments that a tool doesn't know, each with what it may stand for.

    Args:
        given: Names in the call.
        known: Names in the tool's schema.
        missing: Required names that the call lacks: those that a wrong name most probably stands for.
    """
    told = []
    for name in [name for name in given if name not in known][:_MOST]:
        near = nearest(name, sorted(missing))
        told.append(f"{name[:_SHOWN]!r}" + (f" (did you mean {near!r}?)" if near else ""))
    return f"unknown: {', '.join(told)}" if told else ""
