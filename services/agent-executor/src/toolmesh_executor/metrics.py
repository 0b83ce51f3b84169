"""What an executor measures."""

from collections.abc import Callable, Mapping

from toolmesh_client.client import Client
from toolmesh_contracts.envelopes.reply import Outcome
from toolmesh_executor.models.turns import TurnAnswer
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
        self._model_calls = metrics.counter("model_calls", "Questions of tools to models", ("agent", "outcome"))
        self._model_tokens = metrics.counter(
            "model_tokens", "Tokens that tools' questions took", ("agent", "direction")
        )
        self._turns = metrics.counter("turns", "Turns of agents' models", ("agent", "model"))
        self._turn_tokens = metrics.counter("turn_tokens", "Tokens of agents' turns", ("agent", "model", "direction"))
        self._turn_cost = metrics.counter("turn_cost_dollars", "What turns of known prices cost", ("agent", "model"))
        metrics.gauge("agents", "Agents that run").set_function(lambda: len(agents))
        self._running_tasks = metrics.gauge("running_tasks", "Tasks that run now")
        metrics.gauge("open_calls", "Tool calls without a result yet").set_function(lambda: client.open_calls)
        metrics.gauge("problems", "What the agents have to do without").set_function(lambda: len(board.problems))

    def running_tasks(self, count: Callable[[], int]) -> None:
        """Show how many tasks run."""
        self._running_tasks.set_function(count)

    def ended(self, agent: str, tool: str, outcome: Outcome) -> None:
        """Count a call that has its result."""
        self._calls.labels(agent, tool, outcome.value).inc()

    def turn(self, agent: str, model: str, answer: TurnAnswer) -> None:
        """Count a turn of an agent's model."""
        self._turns.labels(agent, model).inc()
        self._turn_tokens.labels(agent, model, "in").inc(answer.input_tokens)
        self._turn_tokens.labels(agent, model, "out").inc(answer.output_tokens)
        if answer.cost_microdollars is not None:
            self._turn_cost.labels(agent, model).inc(answer.cost_microdollars / 1_000_000)

    def answered(self, agent: str, outcome: str, input_tokens: int, output_tokens: int) -> None:
        """Count a tool's question to a model."""
        self._model_calls.labels(agent, outcome).inc()
        self._model_tokens.labels(agent, "in").inc(input_tokens)
        self._model_tokens.labels(agent, "out").inc(output_tokens)
