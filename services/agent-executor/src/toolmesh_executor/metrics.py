"""What an executor measures."""

from collections.abc import Mapping

from toolmesh_client.client import Client
from toolmesh_contracts.envelopes.reply import Outcome
from toolmesh_executor.problems import ProblemBoard
from toolmesh_executor.registry import AgentTools
from toolmesh_telemetry.metrics import Metrics

__all__ = ["ExecutorMetrics"]


class ExecutorMetrics:
    """The metrics of one executor.

    Attributes:
        registry: What /metrics shows.
    """

    def __init__(self, agents: Mapping[str, AgentTools], client: Client, board: ProblemBoard) -> None:
        metrics = Metrics("toolmesh_executor")
        self.registry = metrics.registry
        self._calls = metrics.counter("tool_calls", "Ended tool calls", ("agent", "tool", "outcome"))
        metrics.gauge("agents", "Agents that run").set(len(agents))
        metrics.gauge("open_calls", "Tool calls without a result yet").set_function(lambda: client.open_calls)
        metrics.gauge("problems", "What the agents have to do without").set_function(lambda: len(board.problems))

    def ended(self, agent: str, tool: str, outcome: Outcome) -> None:
        """Count a call that has its result."""
        self._calls.labels(agent, tool, outcome.value).inc()
