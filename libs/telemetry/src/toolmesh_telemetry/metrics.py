"""Prometheus metrics of one process object: a registry of its own, never the global one."""

from collections.abc import Sequence
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector

# 1 MiB to 16 GiB, each twice the one before.
SIZE_BUCKETS: Final = tuple(float(1 << power) for power in range(20, 35))
# From a warm call to a long-running tool.
SECONDS_BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800)


class Metrics:
    """Makes the metrics of one service, all named `<prefix>_...`.

    Attributes:
        registry: What `/metrics` shows; it already holds the process's own CPU, memory and descriptor figures.
    """

    def __init__(self, prefix: str = "toolmesh") -> None:
        self._prefix = prefix
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)

    def counter(self, name: str, documentation: str, labels: Sequence[str] = ()) -> Counter:
        """Make a counter; Prometheus shows it as `<prefix>_<name>_total`.

        Raises:
            ValueError: When the name is taken or not a metric name.
        """
        return Counter(name, documentation, labels, namespace=self._prefix, registry=self.registry)

    def gauge(self, name: str, documentation: str, labels: Sequence[str] = ()) -> Gauge:
        """Make a gauge.

        Raises:
            ValueError: When the name is taken or not a metric name.
        """
        return Gauge(name, documentation, labels, namespace=self._prefix, registry=self.registry)

    def seconds(self, name: str, documentation: str, labels: Sequence[str] = ()) -> Histogram:
        """Make a histogram of durations, 1 ms to 30 min; call it `..._seconds`.

        Raises:
            ValueError: When the name is taken or not a metric name.
        """
        return Histogram(
            name, documentation, labels, namespace=self._prefix, registry=self.registry, buckets=SECONDS_BUCKETS
        )

    def sizes(self, name: str, documentation: str, labels: Sequence[str] = ()) -> Histogram:
        """Make a histogram of sizes, 1 MiB to 16 GiB; call it `..._bytes`.

        Raises:
            ValueError: When the name is taken or not a metric name.
        """
        return Histogram(
            name, documentation, labels, namespace=self._prefix, registry=self.registry, buckets=SIZE_BUCKETS
        )
