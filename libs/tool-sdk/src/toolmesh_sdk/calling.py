"""Calling what an author wrote: with those arguments it takes, sync or async."""

from __future__ import annotations

from .parameters.base import MISSING
from .signature import read_parameters

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def call_with(function: Callable[..., Any], **offered: Any) -> Any:
    """Call a function with those of the offered keywords that it takes."""
    return function(**_taken(function, offered))


def can_be_called_with(function: Callable[..., Any], **offered: Any) -> bool:
    """Say whether the offered keywords are all that a function needs."""
    return all(
        entry.name in offered or entry.default is not MISSING or entry.place in ("args", "kwargs")
        for entry in read_parameters(function)
    )


def takes_an_argument(function: Callable[..., Any]) -> bool:
    """Say whether a function takes a positional argument."""
    return any(entry.place in ("positional", "keyword", "args") for entry in read_parameters(function))


def construct(kind: Callable[..., Any], tool_config: dict[str, Any]) -> Any:
    """Return an instance of a tool or provider class; its `__init__` gets tool_config if it takes it."""
    initialiser = kind.__init__ if hasattr(kind.__init__, "__code__") else None
    instance = kind(**_taken(initialiser, {"tool_config": tool_config})) if initialiser else kind()
    # An __init__ that calls no super() or takes no config must not leave tool_config unset.
    if not getattr(instance, "tool_config", None):
        instance.tool_config = tool_config
    return instance


def _taken(function: Callable[..., Any], offered: dict[str, Any]) -> dict[str, Any]:
    parameters = read_parameters(function)
    if any(entry.place == "kwargs" for entry in parameters):
        return offered
    names = {entry.name for entry in parameters if entry.place == "keyword"}
    return {name: value for name, value in offered.items() if name in names}


class Awaiting:
    """Runs awaitables of one call in one event loop, made when the first one comes: asyncio costs 30 ms."""

    __slots__ = ("_runner",)

    def __init__(self) -> None:
        self._runner: Any = None

    def settle(self, value: Any) -> Any:
        """Return a value, awaited for as long as it is awaitable."""
        while hasattr(value, "__await__"):
            if self._runner is None:
                from asyncio import Runner

                self._runner = Runner()
            value = self._runner.run(_awaited(value))
        return value

    def close(self) -> None:
        """Cancel what still runs in the loop and close it."""
        if self._runner is not None:
            self._runner.close()


async def _awaited(value: Any) -> Any:
    return await value
