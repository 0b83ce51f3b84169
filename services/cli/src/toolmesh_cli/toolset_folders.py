"""Finds the toolsets that `--tools` means, and checks them before anything starts."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from toolmesh_contracts.duplicate_tools import check_duplicate_tools
from toolmesh_contracts.errors import ErrorCode, ToolmeshError
from toolmesh_contracts.manifest import Manifest, load_manifest

__all__ = ["MANIFEST_NAME", "find_manifests", "load_toolsets", "split_by_pool"]

MANIFEST_NAME: Final = "manifest.yaml"


def find_manifests(places: Iterable[Path]) -> tuple[Path, ...]:
    """Return the manifest files of the places: toolset folders, manifests, or folders of toolset folders.

    Raises:
        ToolmeshError: a place is not there, or there is no manifest in it.
    """
    found: dict[Path, None] = {}
    for place in places:
        for manifest in _manifests_of(place):
            found[manifest.absolute()] = None
    return tuple(found)


def load_toolsets(places: Iterable[Path]) -> Sequence[Manifest]:
    """Load the places' manifests and check that no pool gets one tool name twice.

    A tool with a mistake is left out here; its worker tells of it, and serves the others.

    Raises:
        ToolmeshError: a manifest is missing or can't be used as a whole, or two define the same tool.
    """
    manifests = [load_manifest(path) for path in find_manifests(places)]
    check_duplicate_tools(manifests)
    return manifests


def split_by_pool(manifests: Iterable[Manifest], pool: str) -> tuple[list[str], list[str]]:
    """Return the names of the tools that `pool` serves, and of those that their manifests give to other pools.

    Raises:
        ToolmeshError: there are only others.
    """
    tools = {name: tool.pool for manifest in manifests for name, tool in manifest.tools.items()}
    here = sorted(name for name, own in tools.items() if own == pool)
    elsewhere = sorted(tools.keys() - here)
    if elsewhere and not here:
        raise ToolmeshError(
            f"no tool is for pool {pool!r}: the manifests give them to {', '.join(sorted(set(tools.values())))}",
            code=ErrorCode.INVALID_CONFIGURATION,
            hint=f"write `pool: {pool}` beside each tool in its manifest, or start another --pool",
        )
    return here, elsewhere


def _manifests_of(place: Path) -> Sequence[Path]:
    if place.is_file():
        return (place,)
    if not place.is_dir():
        raise ToolmeshError(
            f"tools folder {place} is not there",
            code=ErrorCode.INVALID_CONFIGURATION,
            hint="give a folder with a manifest.yaml, or a folder of such folders",
        )
    if (place / MANIFEST_NAME).is_file():
        return (place / MANIFEST_NAME,)
    inner = sorted(folder / MANIFEST_NAME for folder in place.iterdir() if (folder / MANIFEST_NAME).is_file())
    if not inner:
        raise ToolmeshError(
            f"no {MANIFEST_NAME} in {place}, nor in a folder directly below it",
            code=ErrorCode.INVALID_CONFIGURATION,
            hint="each toolset folder holds a manifest.yaml that names its tools",
        )
    return inner
