"""What a Python program's last words tell its author: where in the own files it failed, and what it lacks."""

import re
from pathlib import Path
from typing import Final

from toolmesh_runtime.process.confinement import TOOLSET_INSIDE

__all__ = ["failed_at", "missing_module"]

_FRAME: Final = re.compile(r'File "([^"\n]+)", line (\d+)')
_NO_MODULE: Final = re.compile(r"No module named '([A-Za-z0-9_]+)")


def failed_at(log: str, folder: Path) -> tuple[str, int] | None:
    """Return the innermost place of a traceback that lies in the program's folder: relative path and line."""
    for file, line in reversed(_FRAME.findall(log)):
        for start in (f"{TOOLSET_INSIDE}/", f"{folder}/"):
            if file.startswith(start):
                return file.removeprefix(start), int(line)
    return None


def missing_module(log: str) -> str:
    """Return the module that an import did not find, or an empty text."""
    found = _NO_MODULE.search(log)
    return "" if found is None else found[1]
