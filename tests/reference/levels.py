"""How far a test goes, read from its source: a test goes through the worker if it uses one over a broker.

What is read are names: of the test, of its fixtures, and of whatever these use of their module and of tests/support.
"""

import ast
import enum
import functools
from pathlib import Path

__all__ = ["Level", "level_of"]

ROOT = Path(__file__).resolve().parents[2]
_WORKERS = {"worker_in_process", "running_mesh"}
"""What starts a real worker over a real broker: in the test's process, or by `toolmesh up`."""


class Level(enum.StrEnum):
    """How much of the system a test has."""

    PART = "part"
    """Some of our parts: a module, an SDK's process, a sandbox."""
    WORKER = "worker"
    """The tool runs in a worker, called over a broker."""


@functools.cache
def level_of(test: str) -> Level:
    """Return how far a test goes; `test` is a node id with or without its parameters."""
    path, _, name = test.partition("[")[0].partition("::")
    return Level.WORKER if _reaches_worker(ROOT / path, name, frozenset()) else Level.PART


def _reaches_worker(path: Path, name: str, seen: frozenset[tuple[Path, str]]) -> bool:
    if name in _WORKERS:
        return True
    if (path, name) in seen:
        return False
    seen |= {(path, name)}
    own, imported = _module(path)
    if name in imported:
        return _reaches_worker(imported[name], name, seen)
    used = own.get(name, frozenset())
    return any(_reaches_worker(path, other, seen) for other in used if other in own or other in imported)


@functools.cache
def _module(path: Path) -> tuple[dict[str, frozenset[str]], dict[str, Path]]:
    """Return the names that each function of a module uses, and where its names of tests/support come from."""
    own: dict[str, frozenset[str]] = {}
    imported: dict[str, Path] = {}
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
            names |= {part.arg for part in ast.walk(node) if isinstance(part, ast.arg)}
            own[node.name] = frozenset(names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tests.support."):
            place = ROOT.joinpath(*str(node.module).split("."))
            source = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
            imported |= {alias.asname or alias.name: source for alias in node.names}
    return own, imported
