"""What a Python program's last words tell its author: where in the own files it failed, and what it lacks."""

import re
import sys
from pathlib import Path, PurePosixPath
from typing import Final

from toolmesh_runtime.process.confinement import TOOLSET_INSIDE

__all__ = ["failed_at", "hiding_file", "missing_module"]

_FRAME: Final = re.compile(r'File "([^"\n]+)", line (\d+)')
_MISSED: Final = ("ImportError:", "AttributeError:")
"""How a program ends in which one module stands in the place of another."""
_NO_MODULE: Final = re.compile(r"No module named '([A-Za-z0-9_]+)")


def failed_at(log: str, folder: Path) -> tuple[str, int] | None:
    """Return the innermost place of a traceback that lies in the program's folder: relative path and line."""
    return next(reversed(_own_places(log, folder)), None)


def hiding_file(log: str, folder: Path) -> str:
    """Return a file of the program's folder that hides a module of Python's own library from it, or an empty text.

    It need not be why the program failed; only failures that look like it are taken for it.
    """
    last = log.rstrip().rpartition("\n")[2]
    if not last.startswith(_MISSED):
        return ""
    files = (PurePosixPath(file) for file, _ in _own_places(log, folder))
    return next((str(file) for file in files if file.suffix == ".py" and file.stem in sys.stdlib_module_names), "")


def _own_places(log: str, folder: Path) -> list[tuple[str, int]]:
    starts = (f"{TOOLSET_INSIDE}/", f"{folder}/")
    return [
        (file.removeprefix(start), int(line))
        for file, line in _FRAME.findall(log)
        for start in starts
        if file.startswith(start)
    ]


def missing_module(log: str) -> str:
    """Return the module that an import did not find, or an empty text."""
    found = _NO_MODULE.search(log)
    return "" if found is None else found[1]
