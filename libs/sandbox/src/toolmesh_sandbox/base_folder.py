"""The folder below which everything of the sandbox lives on the host, checked before it is trusted."""

import os
import stat
from pathlib import Path

from toolmesh_sandbox.errors import BaseFolderError

_TRAVERSABLE = 0o711


def open_base(base: Path) -> Path:
    """Make or check the base folder: a real folder, ours, writable by nobody else, open for every uid to pass.

    Raises:
        BaseFolderError: it is a link, belongs to someone else, or can't be made or passed through.
    """
    if not base.is_absolute():
        raise BaseFolderError(f"sandbox base folder {base} is not an absolute path", "set an absolute path")
    try:
        base.mkdir(mode=_TRAVERSABLE, parents=True, exist_ok=True)
        found = base.lstat()
    except OSError as error:
        raise BaseFolderError(f"can't make the sandbox base folder {base}: {error.strerror}", _HINT) from error
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise BaseFolderError(
            f"sandbox base folder {base} is not a folder of uid {os.getuid()}", "remove it, or set another folder"
        )
    base.chmod(_TRAVERSABLE)
    resolved = base.resolve()
    if os.getuid() == 0:
        _check_passable(resolved)
    return resolved


_HINT = "set `sandbox.base` to a folder that this user may write and every user may pass through"


def _check_passable(base: Path) -> None:
    for parent in base.parents:
        if not parent.stat().st_mode & stat.S_IXOTH:
            raise BaseFolderError(
                f"sandbox base folder {base} lies below {parent}, which a tool's own uid can't enter", _HINT
            )


def subfolder(base: Path, name: str, mode: int) -> Path:
    """A folder directly below a checked base folder, with exactly this mode."""
    folder = base / name
    folder.mkdir(exist_ok=True)
    folder.chmod(mode)
    return folder
