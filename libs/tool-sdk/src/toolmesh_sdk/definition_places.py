"""Where in its file a function or a parameter is written, for messages about tools that can't be described."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ast
    from typing import Any


_INNER = ("__wrapped__", "__func__", "func")


def place_of(function: Any, parameter: str = "") -> tuple[str, int] | None:
    """Return the file and line of a function's parameter, or of the function; None for what has no source."""
    code = _innermost_code(function)
    if code is None:
        return None
    return code.co_filename, _line_of(code, parameter)


def _innermost_code(function: Any) -> Any:
    for _ in range(32):  # a decorator may have built a circle
        if (code := getattr(function, "__code__", None)) is not None and not hasattr(function, "__wrapped__"):
            return code
        inner = next((getattr(function, name) for name in _INNER if hasattr(function, name)), None)
        if inner is None:
            inner = type(function).__call__
        function = inner
    return None


def _line_of(code: Any, parameter: str) -> int:
    import ast
    from pathlib import Path

    first: int = code.co_firstlineno
    try:
        tree = ast.parse(Path(code.co_filename).read_bytes())
    except (OSError, ValueError, SyntaxError):
        return first
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and first == _first_line(node):
            return _line_in(node, parameter)
    return first


def _first_line(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return where Python counts a function from: its first decorator."""
    return min([node.lineno, *(entry.lineno for entry in node.decorator_list)])


def _line_in(node: ast.FunctionDef | ast.AsyncFunctionDef, parameter: str) -> int:
    given = node.args
    found = [*given.posonlyargs, *given.args, *given.kwonlyargs, *filter(None, (given.vararg, given.kwarg))]
    return next((entry.lineno for entry in found if entry.arg == parameter), node.lineno)
