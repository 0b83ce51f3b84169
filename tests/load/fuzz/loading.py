"""Gives files to the real loaders: each must return a value or raise its typed error, whatever the file holds."""

from collections.abc import Callable
from pathlib import Path

from toolmesh_contracts.config_problems import ConfigError
from toolmesh_contracts.errors import ToolmeshError
from toolmesh_contracts.manifest import load_manifest
from toolmesh_contracts.tool_description import parse_tool_descriptions
from toolmesh_contracts.vessel import load_declared_tool, load_vessel
from toolmesh_contracts.worker_config import load_worker_config

_NAMES = {
    "manifest": "manifest.yaml",
    "declared tool": "tool.toml",
    "vessel": "vessel.toml",
    "worker": "worker.yaml",
    "description": "description.json",
}
_LOADERS: dict[str, Callable[[Path], object]] = {
    "manifest": load_manifest,
    "declared tool": load_declared_tool,
    "vessel": lambda path: load_vessel(path.parent),
    "worker": lambda path: load_worker_config(path, {}),
    "description": lambda path: parse_tool_descriptions(path.read_bytes()),
}


def load(loader: str, content: bytes, folder: Path) -> tuple[str, str]:
    """Let a loader read a file in a new folder.

    Returns:
        What became of it, and what is wrong with that; empty for nothing.
    """
    folder.mkdir()
    path = folder / _NAMES[loader]
    path.write_bytes(content)
    try:
        _LOADERS[loader](path)
    except ToolmeshError as error:
        return error.code, _silence(error)
    except Exception as error:  # noqa: BLE001 - which one it was is the finding
        return type(error).__name__, f"{type(error).__name__}: {error}"[:500]
    else:
        return "loaded", ""
    finally:
        for each in folder.iterdir():
            each.unlink()
        folder.rmdir()


def _silence(error: ToolmeshError) -> str:
    if not error.message:
        return "an error without a message"
    if isinstance(error, ConfigError) and not all(problem.message for problem in error.problems):
        return "a problem without a message"
    return ""
