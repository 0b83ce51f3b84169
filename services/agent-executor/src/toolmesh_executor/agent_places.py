"""Which agent files a place holds."""

from pathlib import Path
from typing import Final

from toolmesh_contracts.tool_places import is_agent_folder

__all__ = ["agent_files_of"]

_SUFFIXES: Final = frozenset({".yaml", ".yml"})


def agent_files_of(place: Path) -> list[Path]:
    """Return a file itself, an agent folder itself, or the YAML files in another folder by name.

    Raises:
        OSError: the folder can't be read.
    """
    if not place.is_dir() or is_agent_folder(place):
        return [place]
    return sorted(file for file in place.iterdir() if file.suffix in _SUFFIXES and file.is_file())
