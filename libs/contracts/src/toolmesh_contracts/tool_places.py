"""Tells agent folders from toolset folders among the places that tools come from. Looks at names and reads nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ["MANIFEST_NAME", "VESSEL_NAME", "ToolPlaces", "is_agent_folder", "sort_places"]

MANIFEST_NAME: Final = "manifest.yaml"
"""The file that makes a folder a toolset folder."""
VESSEL_NAME: Final = "vessel.toml"
"""The file that makes a folder an agent folder."""


@dataclass(frozen=True, slots=True)
class ToolPlaces:
    """What places are.

    Attributes:
        toolsets: Manifests, toolset folders and folders of them.
        agents: Agent folders.
    """

    toolsets: tuple[Path, ...]
    agents: tuple[Path, ...]


def is_agent_folder(place: Path) -> bool:
    """Tell whether a folder has declared tools of its own."""
    return (place / VESSEL_NAME).is_file()


def sort_places(places: Sequence[Path]) -> ToolPlaces:
    """Sort places: agent folders, folders of agent folders, and the rest; a folder may hold both kinds, or be both."""
    toolsets: list[Path] = []
    agents: dict[Path, None] = {}
    for place in places:
        found = [place] if is_agent_folder(place) else _agents_in(place)
        agents |= dict.fromkeys(found)
        if not found or _holds_manifests(place):
            toolsets.append(place)
    return ToolPlaces(tuple(toolsets), tuple(agents))


def _agents_in(place: Path) -> list[Path]:
    return sorted(path.parent for path in place.glob(f"*/{VESSEL_NAME}")) if place.is_dir() else []


def _holds_manifests(place: Path) -> bool:
    return (place / MANIFEST_NAME).is_file() or any(place.glob(f"*/{MANIFEST_NAME}"))
