"""What a worker counts."""

from toolmesh_sandbox.process import Usage
from toolmesh_telemetry.metrics import Metrics

__all__ = ["WorkerMetrics"]


class WorkerMetrics:
    """The worker's metrics, all named `toolmesh_worker_...`.

    A label `tool` is the name of a tool that this worker serves, or empty: names in calls come from outside.

    Attributes:
        metrics: Holds the registry that `/metrics` shows.
    """

    def __init__(self) -> None:
        self.metrics = Metrics("toolmesh_worker")
        self.calls = self.metrics.counter(
            "calls", "Calls that ended, by tool, outcome and error code.", ("tool", "outcome", "code")
        )
        self.seconds = self.metrics.seconds("call_seconds", "From delivery to settled, by tool.", ("tool",))
        run = ("tool", "outcome")
        self.wall_seconds = self.metrics.seconds("tool_wall_seconds", "Wall clock of the tool's sandbox.", run)
        self.cpu_seconds = self.metrics.seconds("tool_cpu_seconds", "CPU time of the tool's processes.", run)
        self.memory_bytes = self.metrics.sizes("tool_peak_memory_bytes", "Most memory of the tool's processes.", run)
        self.read_bytes = self.metrics.counter("tool_read_bytes", "Read from block devices by tools.", run)
        self.written_bytes = self.metrics.counter("tool_written_bytes", "Written to block devices by tools.", run)
        self.handed_back = self.metrics.counter(
            "calls_handed_back", "Deliveries given back to the queue, by reason.", ("reason",)
        )
        self.stored = self.metrics.counter("results_stored", "Results that nobody confirmed and that were stored.", ())
        self.running = self.metrics.gauge("calls_running", "Calls that run now.", ())
        self.slots = self.metrics.gauge("slots", "Calls that can run at once.", ())
        self.tools = self.metrics.gauge("tools", "Tools that this worker serves.", ())
        self.problems = self.metrics.gauge("tool_problems", "Tools that could not be loaded.", ())

    def ran(self, tool: str, outcome: str, usage: Usage) -> None:
        """Count what one run of a tool has used."""
        labels = (tool, outcome)
        self.wall_seconds.labels(*labels).observe(usage.wall_ms / 1000)
        self.cpu_seconds.labels(*labels).observe(usage.cpu_ms / 1000)
        self.memory_bytes.labels(*labels).observe(usage.peak_memory_bytes)
        self.read_bytes.labels(*labels).inc(usage.read_bytes)
        self.written_bytes.labels(*labels).inc(usage.written_bytes)
