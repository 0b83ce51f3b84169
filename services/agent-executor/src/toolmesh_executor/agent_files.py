"""Loads the agents of an executor; one bad file leaves the others usable, and visible."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from toolmesh_contracts.agent_config.loading import AgentFile, LoadedAgent, load_agent_file
from toolmesh_contracts.config_problems import ConfigError, Problem
from toolmesh_executor.agent_places import agent_files_of
from toolmesh_executor.vessel_agents import load_vessel_agent

__all__ = ["AgentSource", "LoadedAgents", "load_agents"]


@dataclass(frozen=True, slots=True)
class AgentSource:
    """An agent and the file that it came from."""

    path: Path
    agent: LoadedAgent


@dataclass(frozen=True, slots=True)
class LoadedAgents:
    """All agents of an executor.

    Attributes:
        agents: Those that can start, by name.
        problems: Why others can't.
    """

    agents: Mapping[str, AgentSource]
    problems: tuple[Problem, ...]


def load_agents(paths: Sequence[Path], namespace: str, environment: Mapping[str, str]) -> LoadedAgents:
    """Load agent files and folders of them.

    Args:
        paths: Files; agent folders, whose declared tools are the tools of an agent of the folder's name; or folders
            whose `*.yaml` and `*.yml` files are taken in the order of their names.
        namespace: The executor's namespace; agents of another one are refused.
        environment: Variables to fill in.
    """
    agents: dict[str, AgentSource] = {}
    problems: list[Problem] = []
    for path in paths:
        for file in _files(path, problems):
            try:
                loaded = load_vessel_agent(file) if file.is_dir() else load_agent_file(file, environment)
            except ConfigError as error:
                problems += error.problems
                continue
            problems += loaded.problems
            _add(agents, loaded, namespace, problems)
    return LoadedAgents(agents, tuple(problems))


def _files(path: Path, problems: list[Problem]) -> Iterable[Path]:
    try:
        found = agent_files_of(path)
    except OSError as error:
        problems.append(Problem(file=str(path), message=f"can't read the folder: {error.strerror}"))
        return []
    if not found:
        problems.append(Problem(file=str(path), message="the folder holds no agent files (*.yaml, *.yml)"))
    return found


def _add(agents: dict[str, AgentSource], file: AgentFile, namespace: str, problems: list[Problem]) -> None:
    for agent in file.agents:
        name, own = agent.config.name, agent.config.namespace
        if own is not None and own != namespace:
            message = f"agent {name!r} belongs to namespace {own!r}, this executor to {namespace!r}; it is left out"
            problems.append(Problem(file=str(file.path), message=message))
        elif name in agents:
            message = f"agent {name!r} is also defined in {agents[name].path}; that one is used, rename this one"
            problems.append(Problem(file=str(file.path), message=message))
        else:
            agents[name] = AgentSource(file.path, agent)
