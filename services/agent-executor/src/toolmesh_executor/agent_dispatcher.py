"""Calls the tools of one agent from its file, as a running executor does."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from toolmesh_client.client import Client
from toolmesh_contracts.config_problems import ConfigError
from toolmesh_executor.agent_files import load_agents
from toolmesh_executor.dispatch import Dispatcher, TokenVerifier
from toolmesh_executor.registry import build_registry

__all__ = ["agent_dispatcher"]


def agent_dispatcher(
    agent: str, files: Sequence[Path], client: Client, verifier: TokenVerifier, environment: Mapping[str, str]
) -> Dispatcher:
    """Load agent files, and return what calls the tools of their agents over `client`.

    Raises:
        ConfigError: `agent` is in none of the files, and some of them can't be used.
    """
    loaded = load_agents(files, verifier.namespace, environment)
    if agent not in loaded.agents and loaded.problems:
        raise ConfigError(loaded.problems)
    return Dispatcher(build_registry(loaded.agents.values()), client, verifier)
