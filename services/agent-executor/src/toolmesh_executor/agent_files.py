"""Loads the agents of an executor; one bad file leaves the others usable, and visible."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Final

from toolmesh_contracts.agent_config.loading import AgentFile, LoadedAgent, load_agent_file
from toolmesh_contracts.config_problems import ConfigError, Problem
from toolmesh_executor.agent_places import agent_files_of
from toolmesh_executor.vessel_agents import PROMPT_NAME, load_vessel_agent

__all__ = ["AgentFiles", "AgentSource", "LoadedAgents", "load_agents"]

_MOST_PARTS: Final = 10_000
"""Entries of an agent folder that are looked at for a change."""


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


class AgentFiles:
    """The files of an executor's agents. They may be read again; what can't be used any more stays as it was.

    Args:
        places: Files; agent folders, whose declared tools are the tools of an agent of the folder's name; or folders
            whose `*.yaml` and `*.yml` files are taken in the order of their names.
        namespace: The executor's namespace; agents of another one are refused.
        environment: Variables to fill in.
    """

    def __init__(self, places: Sequence[Path], namespace: str, environment: Mapping[str, str]) -> None:
        self._places = places
        self._namespace = namespace
        self._environment = environment
        self._good: dict[Path, AgentFile] = {}
        self._listed: dict[Path, list[Path]] = {}

    def load(self) -> LoadedAgents:
        """Read all files. A file that is gone has no agents; one that is broken has those of its last good reading."""
        agents: dict[str, AgentSource] = {}
        problems: list[Problem] = []
        good: dict[Path, AgentFile] = {}
        for place in self._places:
            for file in self._list(place, problems):
                loaded = self._read(file, problems)
                if loaded is not None:
                    good[file] = loaded
                    _add(agents, loaded, self._namespace, problems)
        self._good = good
        return LoadedAgents(agents, tuple(problems))

    def watched(self) -> Iterator[Path]:
        """Return the files whose change may make another agent of one, and the folders that hold them."""
        for place in self._places:
            yield place
            try:
                files = agent_files_of(place)
            except OSError:
                continue
            for file in files:
                yield from _parts(file) if file.is_dir() else (file,)

    def _list(self, place: Path, problems: list[Problem]) -> list[Path]:
        try:
            self._listed[place] = agent_files_of(place)
        except OSError as error:
            problems.append(Problem(file=str(place), message=f"can't read the folder: {error.strerror}"))
            return self._listed.get(place, [])
        if not self._listed[place]:
            problems.append(Problem(file=str(place), message="the folder holds no agent files (*.yaml, *.yml)"))
        return self._listed[place]

    def _read(self, file: Path, problems: list[Problem]) -> AgentFile | None:
        good = self._good.get(file)
        try:
            loaded = load_vessel_agent(file) if file.is_dir() else load_agent_file(file, self._environment)
        except ConfigError as error:
            if good is None or not file.exists():
                problems += error.problems
                return None
            problems += map(_kept, error.problems)
            return good
        if loaded.problems and good is not None:
            problems += map(_kept, loaded.problems)
            return good
        problems += loaded.problems
        return loaded


def load_agents(paths: Sequence[Path], namespace: str, environment: Mapping[str, str]) -> LoadedAgents:
    """Load agent files and folders of them once; see `AgentFiles`."""
    return AgentFiles(paths, namespace, environment).load()


def _kept(problem: Problem) -> Problem:
    return replace(problem, message=f"{problem.message} (until that is mended, the file's agents stay as they were)")


def _parts(folder: Path) -> Iterator[Path]:
    """Return what an agent folder's agent is made of."""
    for path in sorted(islice(folder.rglob("*"), _MOST_PARTS)):
        if path.suffix == ".toml" or path.name == PROMPT_NAME:
            yield path


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
