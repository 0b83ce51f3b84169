"""Where a file that a tool made is saved. Its name comes from the tool, so it is never trusted as a path."""

import os
import re
import tempfile
from pathlib import Path
from typing import Final

from toolmesh_contracts.errors import ErrorCode, ToolmeshError

__all__ = ["free_path", "make_writable_folder"]

_UNSAFE: Final = re.compile(r"[^\w.,+=@ ()-]")
_LONGEST: Final = 80
_MOST_SAME_NAMES: Final = 10_000


def free_path(folder: Path, filename: str) -> Path:
    """Return a path directly in `folder` for a tool's file name: one plain name, and none that exists.

    Raises:
        ToolmeshError: there are thousands of that name.
    """
    name = _UNSAFE.sub("_", filename)[-_LONGEST:].lstrip(". ") or "artifact"
    path = folder / name
    for number in range(2, _MOST_SAME_NAMES):
        if not os.path.lexists(path):
            return path
        path = folder / f"{Path(name).stem} ({number}){Path(name).suffix}"
    raise ToolmeshError(
        f"{folder} is full of files named {name}", code=ErrorCode.ARTIFACT_ERROR, hint="choose another folder"
    )


def make_writable_folder(folder: Path) -> None:
    """Make the folder if it is missing, and write to it once.

    Raises:
        ToolmeshError: it can't be made or written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"x")
    except OSError as error:
        raise ToolmeshError(
            f"files can't be saved in {folder}: {error.strerror or error}",
            code=ErrorCode.INVALID_CONFIGURATION,
            hint="give a folder that you may write, or one that can be made",
        ) from error
