"""Recognises by its content what a configuration file is."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from toolmesh_contracts.access.authorization_file import AuthorizationFile
from toolmesh_contracts.access.role_file import RoleFile
from toolmesh_contracts.access.user_file import UserFile
from toolmesh_contracts.agent_config.agent import AgentConfig, AgentListFile, SingleAgentFile
from toolmesh_contracts.config_fields import ConfigModel
from toolmesh_contracts.config_problems import ConfigError
from toolmesh_contracts.document import Document
from toolmesh_contracts.executor_config import ExecutorConfig
from toolmesh_contracts.manifest import ManifestFile
from toolmesh_contracts.vessel import DeclaredToolFile, VesselFile
from toolmesh_contracts.worker_config import WorkerConfig

__all__ = ["KINDS", "recognise"]

KINDS: Final = ("worker", "executor", "agent", "manifest", "vessel", "authorization", "roles", "users")

_TELLING: Final[Mapping[str, tuple[str, ...]]] = {
    "worker": ("toolsets", "worker_id", "reconcile_seconds", "discovery_seconds"),
    "executor": ("executor_id",),
    "agent": ("agent_name",),
    "authorization": ("authorization_service",),
    "roles": ("roles",),
    "users": ("users",),
}
"""Keys that only one kind has."""
_MODELS: Final[Mapping[str, tuple[type[ConfigModel], ...]]] = {
    "worker": (WorkerConfig,),
    "executor": (ExecutorConfig,),
    "agent": (AgentListFile, SingleAgentFile, AgentConfig),
    "manifest": (ManifestFile,),
    "vessel": (VesselFile, DeclaredToolFile),
    "authorization": (AuthorizationFile,),
    "roles": (RoleFile,),
    "users": (UserFile,),
}
_HINT: Final = f"say what it is: --kind {', '.join(KINDS)}"


def recognise(document: Document) -> str:
    """Return a file's kind.

    Raises:
        ConfigError: it could be anything, or several.
    """
    value = document.value()
    if not isinstance(value, dict):
        raise ConfigError([document.problem((), "should be a mapping")], hint=_HINT)
    if Path(document.source).suffix == ".toml":
        return "vessel"
    for kind, keys in _TELLING.items():
        if any(key in value for key in keys):
            return kind
    if kind := _by_form(value):
        return kind
    known = {kind: len(value.keys() & _fields(kind)) for kind in KINDS if kind != "vessel"}
    best = max(known.values())
    kinds = [kind for kind, count in known.items() if count == best]
    if not best or len(kinds) > 1:
        raise ConfigError([document.problem((), "it does not tell what kind of file it is")], hint=_HINT)
    return kinds[0]


def _by_form(value: Mapping[str, Any]) -> str:
    """Tell by values that two kinds name alike, but form differently."""
    if isinstance(value.get("tools"), dict):
        return "manifest"
    agents = value.get("agents")
    if isinstance(agents, list) and any(isinstance(agent, dict) for agent in agents):
        return "agent"
    return ""


def _fields(kind: str) -> set[str]:
    return {name for model in _MODELS[kind] for name in model.model_fields}
