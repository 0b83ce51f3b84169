"""What agents have to do without: told in the log once, in heartbeat and /ready as long as it lasts."""

from typing import Final

from toolmesh_client.client import Client
from toolmesh_contracts.envelopes.catalog import ToolProblem
from toolmesh_contracts.errors import ErrorCode
from toolmesh_executor.running_agents import RunningAgents
from toolmesh_telemetry.logs import get_logger

__all__ = ["ProblemBoard"]

_log: Final = get_logger(__name__)


class ProblemBoard:
    """Problems of the files, which last until they are mended, and tools that no worker serves, which come and go."""

    def __init__(self, agents: RunningAgents, client: Client) -> None:
        self._agents = agents
        self._client = client
        self._told_lasting: tuple[ToolProblem, ...] = ()
        self._told: set[ToolProblem] = set()

    @property
    def problems(self) -> tuple[ToolProblem, ...]:
        """All problems now; those of the files first."""
        return (*self._lasting(), *self.unserved())

    def unserved(self) -> tuple[ToolProblem, ...]:
        """Return a problem for each agent's tool that can't be called now."""
        catalog = self._client.tools()
        return tuple(problem for tools in self._agents.tools.values() for problem in tools.unserved(catalog))

    def tell(self) -> None:
        """Log what is new since the last time, and what is over."""
        lasting = self._lasting()
        for problem in lasting:
            if problem not in self._told_lasting:
                _log.warning("tool left out", **_fields(problem))
        for problem in self._told_lasting:
            if problem not in lasting:
                _log.info("problem mended", **_fields(problem))
        self._told_lasting = lasting
        unserved = set(self.unserved())
        for problem in unserved - self._told:
            _log.warning("tool can't be called", **_fields(problem))
        for problem in self._told - unserved:
            _log.info("tool can be called again", tool=problem.tool)
        self._told = unserved

    async def watch(self) -> None:
        """Log every problem once, and when a tool is served again; for ever."""
        while True:
            self.tell()
            await self._client.catalog.wait_until(lambda _: set(self.unserved()) != self._told)

    def _lasting(self) -> tuple[ToolProblem, ...]:
        of_files = (
            ToolProblem(source=problem.place, tool="", code=ErrorCode.INVALID_CONFIGURATION, message=str(problem))
            for problem in self._agents.problems
        )
        return (*of_files, *(problem for tools in self._agents.tools.values() for problem in tools.problems))


def _fields(problem: ToolProblem) -> dict[str, str]:
    return {"tool": problem.tool, "source": problem.source, "code": problem.code, "message": problem.message}
