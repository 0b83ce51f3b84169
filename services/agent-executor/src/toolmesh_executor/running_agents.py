"""The agents that an executor runs now, out of files that may change."""

from dataclasses import dataclass

from toolmesh_contracts.agent_config.agent import AgentConfig
from toolmesh_contracts.config_problems import Problem
from toolmesh_executor.agent_files import LoadedAgents
from toolmesh_executor.live_mapping import LiveMapping
from toolmesh_executor.models.choice import AgentModels, ModelChoice
from toolmesh_executor.registry import AgentTools, build_registry

__all__ = ["ReadAgents", "RunningAgents", "read_agents"]


@dataclass(frozen=True, slots=True)
class ReadAgents:
    """What one reading of the files has given."""

    tools: dict[str, AgentTools]
    configs: dict[str, AgentConfig]
    models: ModelChoice
    problems: tuple[Problem, ...]

    def secrets(self) -> tuple[str, ...]:
        """Return what no log may show."""
        texts = (text for agent in self.tools.values() for tool in agent.tools.values() for text in tool.secret_texts())
        return (*texts, *self.models.secrets())


def read_agents(loaded: LoadedAgents) -> ReadAgents:
    """Work out all that an executor needs of its agents' files."""
    sources = loaded.agents
    return ReadAgents(
        tools=build_registry(sources.values()),
        configs={name: source.agent.config for name, source in sources.items()},
        models=ModelChoice.of_agents(sources.values(), ""),
        problems=loaded.problems,
    )


class RunningAgents:
    """The agents of the last reading. Its mappings may be held: they show each reading as a whole.

    Attributes:
        tools: Each agent's tools.
        configs: Each agent's settings.
        models: Each agent's models.
    """

    def __init__(self, read: ReadAgents) -> None:
        self.tools = LiveMapping[AgentTools]()
        self.configs = LiveMapping[AgentConfig]()
        self.models = LiveMapping[AgentModels]()
        self.replace(read)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Why the files, or agents of theirs, can't be used."""
        return self._problems

    def replace(self, read: ReadAgents) -> None:
        """Run other agents from now on. What runs keeps the tools that it began with."""
        # Nothing waits in between, so that no call sees half of it.
        self.tools.replace(read.tools)
        self.configs.replace(read.configs)
        self.models.replace(read.models.agents)
        self._problems = read.problems
