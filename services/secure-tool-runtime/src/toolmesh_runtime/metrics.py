"""What a worker counts."""

from toolmesh_telemetry.metrics import Metrics

__all__ = ["WorkerMetrics"]


class WorkerMetrics:
    """The worker's metrics, all named `toolmesh_worker_...`.

    Attributes:
        metrics: Holds the registry that `/metrics` shows.
    """

    def __init__(self) -> None:
        self.metrics = Metrics("toolmesh_worker")
        self.calls = self.metrics.counter(
            "calls", "Calls that ended, by tool, outcome and error code.", ("tool", "outcome", "code")
        )
        self.seconds = self.metrics.seconds("call_seconds", "From delivery to settled, by tool.", ("tool",))
        self.wall_seconds = self.metrics.seconds("tool_wall_seconds", "Wall clock of the tool's process.", ("tool",))
        self.cpu_seconds = self.metrics.seconds("tool_cpu_seconds", "CPU time of the tool's processes.", ("tool",))
        self.memory_bytes = self.metrics.gauge("tool_peak_memory_bytes", "Peak memory of the last run.", ("tool",))
        self.handed_back = self.metrics.counter(
            "calls_handed_back", "Deliveries given back to the queue, by reason.", ("reason",)
        )
        self.stored = self.metrics.counter("results_stored", "Results that nobody confirmed and that were stored.", ())
        self.running = self.metrics.gauge("calls_running", "Calls that run now.", ())
        self.slots = self.metrics.gauge("slots", "Calls that can run at once.", ())
        self.tools = self.metrics.gauge("tools", "Tools that this worker serves.", ())
        self.problems = self.metrics.gauge("tool_problems", "Tools that could not be loaded.", ())
