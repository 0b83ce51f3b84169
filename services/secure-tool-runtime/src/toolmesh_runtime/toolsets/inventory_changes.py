"""What another reading of the toolset folders changed, in words for whoever runs the worker."""

from collections.abc import Iterator

from toolmesh_runtime.toolsets.loaded_tool import Inventory

__all__ = ["changes_between"]

_SHORT_VERSION = 8


def changes_between(before: Inventory, after: Inventory) -> list[str]:
    """Return one line for each tool that is new, changed, gone or all right again, and for each new problem."""
    return [*_of_tools(before, after), *_of_problems(before, after)]


def _of_tools(before: Inventory, after: Inventory) -> Iterator[str]:
    wrong = {problem.tool for problem in after.problems}
    mended = {problem.tool for problem in before.problems} - wrong
    for name, tool in after.tools.items():
        version = f"version {tool.version[:_SHORT_VERSION]}"
        former = before.tools.get(name)
        if former is None:
            yield f"{name} is served, {version}"
        elif former != tool and name not in wrong:
            yield f"{name} reloaded, {version}"
        elif name in mended:
            yield f"{name} is all right again, {version}"
    yield from (f"{name} is no longer served" for name in before.tools if name not in after.tools and name not in wrong)


def _of_problems(before: Inventory, after: Inventory) -> Iterator[str]:
    for problem in after.problems:
        if problem in before.problems:
            continue
        name = problem.tool or problem.source
        what = "not reloaded" if problem.tool in after.tools or not problem.tool else "can't be served"
        yield f"{name} {what}: {problem.message}"
