"""Loads a file of agents; one bad toolset or agent leaves the others usable, and visible."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from pydantic import TypeAdapter

from toolmesh_contracts.agent_config.agent import (
    TOOL_ENTRY,
    AgentConfig,
    AgentListFile,
    SingleAgentFile,
    ToolEntry,
)
from toolmesh_contracts.config_problems import ConfigError, ConfigPath, Problem, describe, format_path
from toolmesh_contracts.document import Document, ScalarNode
from toolmesh_contracts.model_loading import check
from toolmesh_contracts.variables import Expansion, expand, replaced
from toolmesh_contracts.yaml_document import read_yaml

__all__ = ["AgentFile", "FailedTool", "LoadedAgent", "LoadedTool", "load_agent_file"]


@dataclass(frozen=True, slots=True)
class LoadedTool:
    """A sound entry of `tools:`.

    Attributes:
        entry: The entry, with `tool_defaults` merged into its `tool_config`.
        position: Its place in the list, from 0.
        line: Its line in the file.
        secret_paths: Values of `tool_config` that hold a variable, as paths below `tool_config`: they travel sealed.
    """

    entry: ToolEntry
    position: int
    line: int
    secret_paths: frozenset[ConfigPath]


@dataclass(frozen=True, slots=True)
class FailedTool:
    """An entry of `tools:` that the agent has to do without.

    Attributes:
        label: What the entry calls itself, for people.
        position: Its place in the list, from 0.
        problems: Why it failed.
    """

    label: str
    position: int
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class LoadedAgent:
    """An agent that can start.

    Attributes:
        config: Its settings; `config.tools` holds the sound entries only.
        tools: The same entries, with what the dispatch of calls needs to know.
        failed_tools: The others.
    """

    config: AgentConfig
    tools: tuple[LoadedTool, ...]
    failed_tools: tuple[FailedTool, ...]


@dataclass(frozen=True, slots=True)
class AgentFile:
    """A loaded file.

    Attributes:
        path: The file.
        agents: The agents that can start, at least one.
        problems: Why other agents of the file can't.
    """

    path: Path
    agents: tuple[LoadedAgent, ...]
    problems: tuple[Problem, ...]


def load_agent_file(path: Path, environment: Mapping[str, str]) -> AgentFile:
    """Load agents in either form: `agent_name:` at the top, or a list `agents:`.

    Args:
        path: A YAML file.
        environment: Variables to fill in.

    Raises:
        ConfigError: the file as a whole can't be used, or none of its agents can.
    """
    document = read_yaml(path)
    return _FileLoader(path, document, expand(document, environment)).load()


class _FileLoader:
    """One file's document and variables, and the problems met on the way."""

    def __init__(self, path: Path, document: Document, expansion: Expansion) -> None:
        self._path = path
        self._document = document
        self._expansion = expansion

    def load(self) -> AgentFile:
        """Return the file's agents."""
        value = self._expansion.value
        if not isinstance(value, dict):
            self._refuse((), "should be a mapping with `agent_name` or `agents`", describe(value))
        problems: list[Problem] = []
        if "agents" in value:
            places, problems = self._list_places(value)
        elif "agent_name" in value:
            places = [()]
        else:
            self._refuse((), "either `agent_name` (one agent) or `agents` (a list) is needed")
        is_usable = not problems
        agents: list[LoadedAgent] = []
        for place in places:
            try:
                agents.append(self._agent(place, {agent.config.name for agent in agents}))
            except ConfigError as error:
                problems.extend(error.problems)
        if not agents or not is_usable:
            failed = (tool for agent in agents for tool in agent.failed_tools)
            raise ConfigError([*problems, *(problem for tool in failed for problem in tool.problems)])
        return AgentFile(self._path, tuple(agents), tuple(problems))

    def _refuse(self, path: ConfigPath, message: str, found: str = "") -> NoReturn:
        raise ConfigError([self._document.problem(path, message, found=found)])

    def _list_places(self, value: dict[str, Any]) -> tuple[list[ConfigPath], list[Problem]]:
        """Return the agents' paths, and what is wrong with the file's own keys."""
        agents = value["agents"]
        if not isinstance(agents, list) or not agents:
            self._refuse(("agents",), "should be a list of at least one agent", describe(agents))
        unset = [problem for problem in self._expansion.problems if problem.path[:1] != ("agents",)]
        problems: list[Problem] = []
        try:
            outline = {**value, "agents": [{"name": "x"}]}
            check(TypeAdapter(AgentListFile), AgentListFile, self._document, outline, unset=unset)
        except ConfigError as error:
            problems += error.problems
        return [("agents", index) for index in range(len(agents))], problems

    def _agent(self, place: ConfigPath, taken: set[str]) -> LoadedAgent:
        value = _at(self._expansion.value, place)
        if not isinstance(value, dict):
            self._refuse(place, "should be a mapping", describe(value))
        tools_place = (*place, "tools")
        entries = value.get("tools") or []
        if not isinstance(entries, list):
            self._refuse(tools_place, "should be a list", describe(entries))
        try:
            config = self._settings(place, tools_place, value, taken)
        except ConfigError as error:
            # All that is wrong is said at once, though the agent can't start anyway.
            _, failed = self._tools(tools_place, entries, place)
            raise ConfigError([*error.problems, *(problem for tool in failed for problem in tool.problems)]) from None
        tools, failed = self._tools(tools_place, entries, place)
        config = config.model_copy(update={"tools": tuple(tool.entry for tool in tools)})
        return LoadedAgent(config, tuple(tools), tuple(failed))

    def _settings(
        self, place: ConfigPath, tools_place: ConfigPath, value: dict[str, Any], taken: Collection[str]
    ) -> AgentConfig:
        """Check what an agent says beside its tools."""
        unset = [
            problem
            for problem in self._expansion.problems
            if _below(problem.path, place) and not _below(problem.path, tools_place)
        ]
        config = self._config(place, {**value, "tools": []}, unset)
        if config.name in taken:
            self._refuse((*place, "name"), "another agent of this file has the same name", describe(config.name))
        return config

    def _tools(
        self, tools_place: ConfigPath, entries: list[Any], agent: ConfigPath
    ) -> tuple[list[LoadedTool], list[FailedTool]]:
        tools: list[LoadedTool] = []
        failed: list[FailedTool] = []
        for position, entry in enumerate(entries):
            try:
                tools.append(self._tool((*tools_place, position), entry, agent))
            except ConfigError as error:
                failed.append(FailedTool(self._label((*tools_place, position)), position, error.problems))
        return tools, failed

    def _config(self, place: ConfigPath, value: dict[str, Any], unset: Sequence[Problem]) -> AgentConfig:
        if place:
            config = check(TypeAdapter(AgentConfig), AgentConfig, self._document, value, place, unset=unset)
            shared = self._expansion.value.get("namespace")
            return config if config.namespace or not shared else config.model_copy(update={"namespace": shared})
        single = check(TypeAdapter(SingleAgentFile), SingleAgentFile, self._document, value, unset=unset)
        given = single.model_fields_set - {"agent_name"}
        settings = {key: getattr(single, key) for key in given}
        return AgentConfig.model_construct(given | {"name"}, name=single.agent_name, **settings)

    def _tool(self, place: ConfigPath, entry: Any, agent: ConfigPath) -> LoadedTool:
        unset = [problem for problem in self._expansion.problems if _below(problem.path, place)]
        secret_paths: frozenset[ConfigPath] = frozenset()
        if isinstance(entry, dict) and isinstance(entry.get("tool_config") or {}, dict):
            merged, secret_paths = self._tool_config(place, agent)
            entry = {**entry, "tool_config": merged}
        checked = check(TOOL_ENTRY, ToolEntry, self._document, entry, place, unset=unset)
        return LoadedTool(checked, place[-1] if isinstance(place[-1], int) else 0, self._line(place), secret_paths)

    def _label(self, place: ConfigPath) -> str:
        """Name an entry by what stands in the file, so that no variable's value is shown."""
        for key in ("tool_name", "group_name", "tool_name_prefix", "tool_type"):
            node = self._document.node((*place, key))
            if isinstance(node, ScalarNode) and isinstance(node.value, str):
                return node.value
        return format_path(place)

    def _line(self, place: ConfigPath) -> int:
        return self._document.position(place)[0]

    def _tool_config(self, place: ConfigPath, agent: ConfigPath) -> tuple[dict[str, Any], frozenset[ConfigPath]]:
        """Merge the defaults of the file and agent with the entry's own, key by key, and find the secret ones."""
        origins: dict[str, ConfigPath] = {}
        sources: list[ConfigPath] = [("tool_defaults",), (*agent, "tool_defaults"), (*place, "tool_config")]
        for source in sources:
            values = _at(self._expansion.value, source)
            origins |= {key: (*source, key) for key in values or {}}
        merged = {key: _at(self._expansion.value, origin) for key, origin in origins.items()}
        secret: set[ConfigPath] = set()
        for key, origin in origins.items():
            for path in self._expansion.referenced:
                if _below(path, origin):
                    relative = (key, *path[len(origin) :])
                    secret.add(relative)
                    if path in self._expansion.typed:
                        merged = replaced(merged, relative, self._expansion.typed[path])
        return merged, frozenset(secret)


def _below(path: ConfigPath, place: ConfigPath) -> bool:
    return path[: len(place)] == place


def _at(value: Any, path: ConfigPath) -> Any:
    """Return what is at `path`; None where a mapping lacks the key."""
    for part in path:
        value = value.get(part) if isinstance(value, dict) else value[part]
    return value
