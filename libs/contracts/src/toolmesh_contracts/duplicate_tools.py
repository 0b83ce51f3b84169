"""Finds tool names that two manifests give to one pool: a call could not tell them apart."""

from collections.abc import Iterable

from toolmesh_contracts.config_problems import ConfigError, Problem
from toolmesh_contracts.manifest import Manifest

__all__ = ["check_duplicate_tools"]


def check_duplicate_tools(manifests: Iterable[Manifest]) -> None:
    """Check that no pool gets one tool name from two manifests.

    Raises:
        ConfigError: naming the tool and both files, for every such tool.
    """
    first: dict[tuple[str, str], Manifest] = {}
    problems: list[Problem] = []
    for manifest in manifests:
        for name, tool in manifest.tools.items():
            other = first.setdefault((tool.pool, name), manifest)
            if other is not manifest:
                message = f"tool {name!r} of pool {tool.pool!r} is also defined in {other.path}"
                problems.append(Problem(file=str(manifest.path), path=("tools", name), message=message))
    if problems:
        raise ConfigError(problems, hint="rename one of them, or serve one in another pool")
