"""Metrics of one process object."""

import pytest
from prometheus_client import generate_latest

from toolmesh_telemetry.metrics import Metrics


def test_metrics_appear_under_the_prefix_of_their_service() -> None:
    """Counter, gauge and histogram, with labels, beside the process's own figures."""
    metrics = Metrics()
    metrics.counter("calls", "Calls.", ["outcome"]).labels("ok").inc()
    metrics.gauge("running", "Calls running now.").set(3)
    metrics.seconds("call_seconds", "Duration of calls.").observe(0.2)
    metrics.sizes("memory_bytes", "Memory.").observe(3 << 20)
    text = generate_latest(metrics.registry).decode()
    assert 'toolmesh_memory_bytes_bucket{le="4.194304e+06"} 1.0' in text
    assert 'toolmesh_memory_bytes_bucket{le="2.097152e+06"} 0.0' in text
    assert 'toolmesh_calls_total{outcome="ok"} 1.0' in text
    assert "toolmesh_running 3.0" in text
    assert 'toolmesh_call_seconds_bucket{le="0.25"} 1.0' in text
    assert 'toolmesh_call_seconds_bucket{le="0.1"} 0.0' in text
    assert "process_resident_memory_bytes" in text


def test_two_objects_share_nothing() -> None:
    """Two services in one process, as in tests, can have metrics of the same name."""
    one, two = Metrics("one"), Metrics("one")
    one.gauge("running", "Calls running now.").set(1)
    two.gauge("running", "Calls running now.").set(2)
    assert one.registry.get_sample_value("one_running") == 1
    assert two.registry.get_sample_value("one_running") == 2


def test_a_name_can_be_taken_once() -> None:
    """A slip of the pen shows at the start."""
    metrics = Metrics()
    metrics.counter("calls", "Calls.")
    with pytest.raises(ValueError, match="calls"):
        metrics.counter("calls", "Calls.")
