"""Which agents the mesh has, as executors say in their heartbeats."""

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import Final

from toolmesh_broker.heartbeats import EXECUTORS_POOL
from toolmesh_broker.ports import Broker, Deleted, Entry, Watch
from toolmesh_broker.task_scope import task_scope
from toolmesh_contracts.agent_config.agent import AgentConfig
from toolmesh_contracts.envelopes.catalog import AgentSummary, Heartbeat
from toolmesh_contracts.errors import ToolmeshError
from toolmesh_contracts.wire import decode
from toolmesh_telemetry.logs import get_logger

__all__ = ["MeshAgents", "summary_of", "watched_agents"]

_log: Final = get_logger(__name__)
_MOST_DESCRIPTION: Final = 1000


class MeshAgents(Mapping[str, AgentSummary]):
    """The agents of all executors that beat now, by name; made by `watched_agents`."""

    def __init__(self) -> None:
        self._by_executor: dict[str, tuple[AgentSummary, ...]] = {}
        self._agents: dict[str, AgentSummary] = {}

    def __getitem__(self, name: str) -> AgentSummary:
        return self._agents[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._agents)

    def __len__(self) -> int:
        return len(self._agents)

    def tell(self, executor: str, agents: Iterable[AgentSummary]) -> None:
        """Take in what an executor runs; nothing when it is gone."""
        told = tuple(agents)
        if self._by_executor.get(executor, ()) == told:
            return
        self._by_executor[executor] = told
        self._agents = {one.name: one for all_of_one in self._by_executor.values() for one in all_of_one}


def summary_of(config: AgentConfig) -> AgentSummary:
    """Return what other agents need to know of an agent."""
    return AgentSummary(
        name=config.name,
        description=config.agent_card.description[:_MOST_DESCRIPTION],
        required_scopes=config.required_scopes,
    )


@asynccontextmanager
async def watched_agents(broker: Broker) -> AsyncIterator[MeshAgents]:
    """Keep the mesh's agents in view inside the block."""
    agents = MeshAgents()
    bucket = broker.keyvalue(broker.subjects.heartbeat_bucket())
    async with bucket.watch(f"{EXECUTORS_POOL}.*") as watch, task_scope() as group:
        watching = group.create_task(_watch(watch, agents))
        try:
            yield agents
        finally:
            watching.cancel()


async def _watch(watch: Watch, agents: MeshAgents) -> None:
    async for change in watch:
        if isinstance(change, Deleted):
            agents.tell(change.key, ())
        elif isinstance(change, Entry):
            try:
                agents.tell(change.key, decode(Heartbeat, change.value).agents)
            except ToolmeshError as error:
                _log.warning("heartbeat can't be read", key=change.key, reason=error.message)
