"""Finds the agent files that `--agents` means."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from toolmesh_contracts.errors import ErrorCode, ToolmeshError
from toolmesh_contracts.tool_places import is_agent_folder

__all__ = ["find_agent_files"]

_SUFFIXES: Final = frozenset({".yaml", ".yml"})


def find_agent_files(places: Iterable[Path]) -> tuple[Path, ...]:
    """Return the absolute paths of the agent files: those named, agent folders, and the YAML files in other folders.

    Raises:
        ToolmeshError: a place is not there, or a folder holds no YAML file.
    """
    found: dict[Path, None] = {}
    for place in places:
        files: list[Path]
        if is_agent_folder(place):
            files = [place]
        elif place.is_dir():
            files = sorted(file for file in place.iterdir() if file.suffix in _SUFFIXES and file.is_file())
        else:
            files = [place] if place.is_file() else []
        if not files:
            raise ToolmeshError(
                f"no agent file at {place}",
                code=ErrorCode.INVALID_CONFIGURATION,
                hint="give an agent's YAML file, a folder of them, or an agent folder with a vessel.toml",
            )
        found |= dict.fromkeys(file.absolute() for file in files)
    return tuple(found)
