"""Finds the toolsets and agent folders that `--tools` means, and checks them before anything starts."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from toolmesh_contracts.config_problems import ConfigError
from toolmesh_contracts.duplicate_tools import check_duplicate_tools
from toolmesh_contracts.errors import ErrorCode, ToolmeshError
from toolmesh_contracts.manifest import Manifest, load_manifest
from toolmesh_contracts.tool_places import sort_places
from toolmesh_contracts.vessel import Vessel, load_vessel
from toolmesh_runtime.toolsets.locate import find_manifests as find_toolsets

__all__ = ["find_manifests", "load_toolsets", "load_vessels", "split_by_pool"]


def find_manifests(places: Iterable[Path]) -> tuple[Path, ...]:
    """Return the manifest files of the places: toolset folders, manifests, or folders of toolset folders.

    Agent folders are none of these, and passed over.

    Raises:
        ToolmeshError: a place is not there, or there is no manifest in it.
    """
    try:
        found = find_toolsets(sort_places(tuple(places)).toolsets)
    except ConfigError as error:
        hint = "give a folder with a manifest.yaml or a vessel.toml, or a folder of such folders"
        raise ConfigError(error.problems, hint=hint) from error
    return tuple(dict.fromkeys(manifest.absolute() for manifest in found))


def load_toolsets(places: Iterable[Path]) -> Sequence[Manifest]:
    """Load the places' manifests and check that no pool gets one tool name twice.

    A tool with a mistake is left out here; its worker tells of it, and serves the others.

    Raises:
        ToolmeshError: a manifest is missing or can't be used as a whole, or two define the same tool.
    """
    manifests = [load_manifest(path) for path in find_manifests(places)]
    check_duplicate_tools(manifests)
    return manifests


def load_vessels(places: Iterable[Path], manifests: Iterable[Manifest], pool: str) -> Sequence[Vessel]:
    """Load the agent folders among the places, whose tools all go to `pool`.

    Raises:
        ToolmeshError: a `vessel.toml` can't be used as a whole, or a tool's name is defined twice.
    """
    vessels = [load_vessel(folder.absolute()) for folder in sort_places(tuple(places)).agents]
    declared = [(name, tool.path) for vessel in vessels for name, tool in vessel.tools.items()]
    check_duplicate_tools(manifests, declared, pool)
    return vessels


def split_by_pool(
    manifests: Iterable[Manifest], pool: str, declared: Iterable[str] = ()
) -> tuple[list[str], list[str]]:
    """Return the names of the tools that `pool` serves, and of those that their manifests give to other pools.

    All `declared` tools go to `pool`.

    Raises:
        ToolmeshError: there are only others.
    """
    tools = {name: tool.pool for manifest in manifests for name, tool in manifest.tools.items()}
    here = sorted([*(name for name, own in tools.items() if own == pool), *declared])
    elsewhere = sorted(tools.keys() - set(here))
    if elsewhere and not here:
        raise ToolmeshError(
            f"no tool is for pool {pool!r}: the manifests give them to {', '.join(sorted(set(tools.values())))}",
            code=ErrorCode.INVALID_CONFIGURATION,
            hint=f"write `pool: {pool}` beside each tool in its manifest, or start another --pool",
        )
    return here, elsewhere
