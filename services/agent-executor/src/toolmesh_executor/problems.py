"""What agents have to do without: told in the log once, in heartbeat and /ready as long as it lasts."""

from collections.abc import Mapping
from typing import Final

from toolmesh_client.client import Client
from toolmesh_contracts.envelopes.catalog import ToolProblem
from toolmesh_contracts.errors import ErrorCode
from toolmesh_executor.agent_files import LoadedAgents
from toolmesh_executor.registry import AgentTools
from toolmesh_telemetry.logs import get_logger

__all__ = ["ProblemBoard"]

_log: Final = get_logger(__name__)


class ProblemBoard:
    """Problems of the files, which stay, and tools that no worker serves, which come and go with the catalog."""

    def __init__(self, loaded: LoadedAgents, agents: Mapping[str, AgentTools], client: Client) -> None:
        self._agents = agents
        self._client = client
        self._lasting = (
            *(
                ToolProblem(source=problem.file, tool="", code=ErrorCode.INVALID_CONFIGURATION, message=str(problem))
                for problem in loaded.problems
            ),
            *(problem for tools in agents.values() for problem in tools.problems),
        )
        self._told: set[ToolProblem] = set()

    @property
    def problems(self) -> tuple[ToolProblem, ...]:
        """All problems now; those of the files first."""
        return (*self._lasting, *self.unserved())

    def unserved(self) -> tuple[ToolProblem, ...]:
        """Return a problem for each agent's tool that can't be called now."""
        catalog = self._client.tools()
        return tuple(problem for tools in self._agents.values() for problem in tools.unserved(catalog))

    async def watch(self) -> None:
        """Log every problem once, and when a tool is served again; for ever."""
        for problem in self._lasting:
            _log.warning("tool left out", **_fields(problem))
        while True:
            unserved = set(self.unserved())
            for problem in unserved - self._told:
                _log.warning("tool can't be called", **_fields(problem))
            for problem in self._told - unserved:
                _log.info("tool can be called again", tool=problem.tool)
            self._told = unserved
            await self._client.catalog.wait_until(lambda _: set(self.unserved()) != self._told)


def _fields(problem: ToolProblem) -> dict[str, str]:
    return {"tool": problem.tool, "source": problem.source, "code": problem.code, "message": problem.message}
