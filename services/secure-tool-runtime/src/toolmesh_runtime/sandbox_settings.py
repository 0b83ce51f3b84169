"""What a worker's configuration means for its sandbox."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from toolmesh_contracts.config_problems import ConfigError
from toolmesh_contracts.envelopes.catalog import DECLARED_PROFILE
from toolmesh_contracts.manifest import load_manifest
from toolmesh_contracts.tool_places import sort_places
from toolmesh_contracts.worker_config import WorkerConfig
from toolmesh_runtime.toolsets.locate import find_manifests
from toolmesh_sandbox.ladder import Level
from toolmesh_sandbox.settings import Mode, SandboxSettings

__all__ = ["named_profiles", "sandbox_settings"]


def sandbox_settings(config: WorkerConfig, folder: Path) -> SandboxSettings:
    """Return the settings of a worker's sandbox.

    Args:
        config: The worker's configuration.
        folder: Where its relative file names start; hidden from tools.
    """
    own = config.sandbox
    profiles: tuple[str, ...] = (own.default_profile,)
    if own.mode == "bwrap" and sort_places([folder / path for path in config.toolsets]).agents:
        profiles += (DECLARED_PROFILE,)
    settings = SandboxSettings(
        mode=Mode(own.mode),
        profiles=profiles,
        bwrap=None if own.bwrap is None else Path(own.bwrap),
        allow_direct=own.allow_direct,
        first_uid=own.uid_base,
        uid_count=own.uid_count,
        floor=Level[own.floor],
        hidden=(folder,),
    )
    return settings if own.work_folder is None else replace(settings, base=Path(own.work_folder))


def named_profiles(config: WorkerConfig, folder: Path) -> set[str]:
    """Return the profiles that the manifests of a worker name, which it proves before it serves their tools.

    Manifests that can't be used name none.
    """
    found: set[str | None] = set()
    for place in sort_places([folder / path for path in config.toolsets]).toolsets:
        for path in _manifests(place):
            with suppress(ConfigError):
                tools = load_manifest(path).tools.values()
                found |= {tool.sandbox_profile for tool in tools if tool.pool == config.pool}
    return {name for name in found if name is not None}


def _manifests(place: Path) -> list[Path]:
    try:
        return find_manifests([place])
    except ConfigError:
        return []
