"""Which tests rows of kind `host` are bound to: found by reading the tests, so that no binding depends on a run."""

import ast
from pathlib import Path

from tests.attacks.rows import Row

_TESTS = Path(__file__).parents[1]


def bindings() -> dict[str, list[str]]:
    """Id of a row to the tests that carry `@pytest.mark.attack(id, ...)`, as pytest names them."""
    found: dict[str, list[str]] = {}
    for path in sorted(_TESTS.rglob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        if "mark.attack" not in text:
            continue
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                for identifier in _ids(node):
                    found.setdefault(identifier, []).append(f"{path}::{node.name}")
    return found


def _ids(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    calls = [each for each in node.decorator_list if isinstance(each, ast.Call)]
    marks = [each for each in calls if ast.unparse(each.func) == "pytest.mark.attack"]
    return [str(word.value) for mark in marks for word in mark.args if isinstance(word, ast.Constant)]


def unbound(rows: list[Row]) -> list[str]:
    """Ids of the rows of kind `host` that no test is bound to: not held."""
    known = bindings()
    return [row["id"] for row in rows if row["kind"] == "host" and row["id"] not in known]
