"""Finds the agent files that `--agents` means."""

from collections.abc import Iterable
from pathlib import Path

from toolmesh_contracts.errors import ErrorCode, ToolmeshError
from toolmesh_executor.agent_places import agent_files_of

__all__ = ["find_agent_files"]


def find_agent_files(places: Iterable[Path]) -> tuple[Path, ...]:
    """Return the absolute paths of the agent files: those named, agent folders, and the YAML files in other folders.

    Raises:
        ToolmeshError: a place is not there, or a folder holds no YAML file.
    """
    found: dict[Path, None] = {}
    for place in places:
        files = agent_files_of(place) if place.exists() else []
        if not files:
            raise ToolmeshError(
                f"no agent file at {place}",
                code=ErrorCode.INVALID_CONFIGURATION,
                hint="give an agent's YAML file, a folder of them, or an agent folder with a vessel.toml",
            )
        found |= dict.fromkeys(file.absolute() for file in files)
    return tuple(found)
