"""The breaker: a tool that keeps failing the same way is not called again in its task."""

from collections.abc import Iterable
from typing import Final

from toolmesh_contracts.envelopes.reply import Outcome
from toolmesh_executor.loop.records import ToolEnded

__all__ = ["broken_tools"]

_SAME_FAILURES: Final = 3


def broken_tools(results: Iterable[ToolEnded]) -> dict[str, str]:
    """Return the tools of which three calls in a row failed the same way, and what each of them said.

    Args:
        results: All results of the task, the oldest first.
    """
    broken: dict[str, str] = {}
    streaks: dict[str, tuple[tuple[str, str], int]] = {}
    for result in results:
        if result.outcome is not Outcome.ERROR:
            streaks.pop(result.tool, None)
            continue
        failure = (str(result.code or ""), result.content)
        former, number = streaks.get(result.tool, (failure, 0))
        number = number + 1 if former == failure else 1
        streaks[result.tool] = (failure, number)
        if number == _SAME_FAILURES:
            broken.setdefault(result.tool, result.content)
    return broken
