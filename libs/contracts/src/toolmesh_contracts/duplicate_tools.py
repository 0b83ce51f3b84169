"""Finds tool names that two files give to one pool: a call could not tell them apart."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from toolmesh_contracts.config_problems import ConfigError, ConfigPath, Problem
from toolmesh_contracts.manifest import Manifest

__all__ = ["check_duplicate_tools"]


def check_duplicate_tools(
    manifests: Iterable[Manifest], declared: Iterable[tuple[str, Path]] = (), pool: str = ""
) -> None:
    """Check that no pool gets one tool name from two files.

    Args:
        manifests: Manifests, which name the pool of each of their tools.
        declared: Name and file of each declared tool.
        pool: The pool of the declared tools.

    Raises:
        ConfigError: naming the tool and both files, for every such tool.
    """
    first: dict[tuple[str, str], Path] = {}
    problems: list[Problem] = []
    for own_pool, name, file, path in (*_of_manifests(manifests), *((pool, name, file, ()) for name, file in declared)):
        other = first.setdefault((own_pool, name), file)
        if other is not file:
            message = f"tool {name!r} of pool {own_pool!r} is also defined in {other}"
            problems.append(Problem(file=str(file), path=path or ("name",), message=message))
    if problems:
        raise ConfigError(problems, hint="rename one of them, or serve one in another pool")


def _of_manifests(manifests: Iterable[Manifest]) -> Sequence[tuple[str, str, Path, ConfigPath]]:
    return [
        (tool.pool, name, manifest.path, ("tools", name))
        for manifest in manifests
        for name, tool in manifest.tools.items()
    ]
