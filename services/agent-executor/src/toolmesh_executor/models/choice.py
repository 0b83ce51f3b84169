"""Which model a tool's question goes to: its agent's, else the executor's; another only if the agent allows it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from toolmesh_contracts.agent_config.agent import ModelSettings
from toolmesh_contracts.errors import ErrorCode
from toolmesh_executor.agent_files import AgentSource
from toolmesh_executor.models.endpoints import name_of
from toolmesh_executor.models.errors import ModelError, ModelNotConfiguredError

__all__ = ["DEFAULT_VARIABLE", "AgentModels", "ModelChoice"]

DEFAULT_VARIABLE: Final = "TOOLMESH_MODEL"
_CURE: Final = (
    f"set `model` in the agent's file, `models.default` of the executor's configuration, or {DEFAULT_VARIABLE}"
)


@dataclass(frozen=True, slots=True)
class AgentModels:
    """An agent's own model, and those that its tools may choose besides."""

    model: str | ModelSettings | None = None
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """The models of one executor.

    Attributes:
        agents: By agent.
        default: Of agents that name none, and of calls without an agent; empty without one.
    """

    agents: Mapping[str, AgentModels]
    default: str = ""

    @classmethod
    def of_agents(cls, sources: Iterable[AgentSource], default: str) -> "ModelChoice":
        """Read the agents' files."""
        configs = [source.agent.config for source in sources]
        return cls({one.name: AgentModels(one.model, one.tool_models) for one in configs}, default)

    def secrets(self) -> tuple[str, ...]:
        """Return the keys in agents' files."""
        models = (agent.model for agent in self.agents.values())
        return tuple(one.api_key for one in models if isinstance(one, ModelSettings) and one.api_key)

    def choose(self, agent: str, wanted: str) -> str | ModelSettings:
        """Return the model for a question.

        Args:
            agent: Who calls the tool; empty without one.
            wanted: What the tool chose; empty for the agent's own.

        Raises:
            ModelError: there is none, the agent is unknown here, or the tool may not choose this one.
        """
        if agent and agent not in self.agents:
            # Its own model may be another than the default here, and answers of the wrong one look like good ones.
            raise ModelNotConfiguredError(
                f"the executor that was asked does not know the agent {agent!r}",
                hint="give all executors that share a pool the same agents' files",
            )
        models = self.agents.get(agent, AgentModels())
        own = models.model or self.default
        if not wanted or (own and wanted == name_of(own)):
            if not own:
                raise ModelNotConfiguredError("no model is configured", hint=_CURE)
            return own
        if wanted in models.choices:
            return wanted
        allowed = ", ".join(models.choices) or "none"
        raise ModelError(
            f"tools of agent {agent!r} may not choose model {wanted!r}; allowed: {allowed}",
            code=ErrorCode.PERMISSION_DENIED,
            hint="name it under `tool_models` in the agent's file",
        )
