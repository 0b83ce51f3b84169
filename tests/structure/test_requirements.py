"""Promises and tests are bound in both directions."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.requirements import REQUIREMENTS

ROOT = Path(__file__).parents[2]


def bound() -> Iterator[tuple[str, str]]:
    """Ids on tests, with the test's place."""
    for path in (ROOT / "tests").rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                for decorator in node.decorator_list:
                    if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "pytest.mark.requirement":
                        yield ast.literal_eval(decorator.args[0]), f"{path.relative_to(ROOT)}::{node.name}"


def test_every_promise_has_a_test() -> None:
    """A promise that nothing checks is a wish."""
    assert set(REQUIREMENTS) - {identifier for identifier, _ in bound()} == set()


def test_every_id_on_a_test_is_a_promise() -> None:
    """A misspelt id would bind nothing."""
    assert [place for identifier, place in bound() if identifier not in REQUIREMENTS] == []


def test_every_source_is_there() -> None:
    """A promise stands on a page that exists, under a heading that it has."""
    for requirement in REQUIREMENTS.values():
        page, _, heading = requirement.source.partition(": ")
        text = (ROOT / page).read_text(encoding="utf-8")
        assert not heading or f"## {heading}" in text, requirement.source
