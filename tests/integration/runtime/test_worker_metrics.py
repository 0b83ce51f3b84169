"""What a worker's /metrics tell of the runs of its tools."""

import asyncio
import json
import urllib.request
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.support.agent_folder import agent_folder
from tests.support.worker_mesh import broker_and_client
from tests.support.worker_process import worker_process

TOOLS = {
    "works": "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done",
    "fails": "exit 3",
}


@pytest.mark.requirement("watch:usage")
async def test_what_a_run_has_used_is_in_its_result_and_counted_by_tool_and_outcome(tmp_path: Path) -> None:
    """Wall clock, CPU, peak memory and input and output of each run; nothing else makes a label."""
    folder = agent_folder(tmp_path / "agent", TOOLS)
    async with broker_and_client(tmp_path) as mesh, worker_process(mesh, [folder]):
        results = {name: await mesh.client.call(name) for name in ("works", "works", "fails")}
        shown = await asyncio.to_thread(_metrics, tmp_path / "worker-1.log")

    for name, outcome, runs in (("works", "ok", 2), ("fails", "error", 1)):
        assert results[name].outcome == outcome
        for figure in ("wall_seconds", "cpu_seconds", "peak_memory_bytes"):
            assert shown[f"tool_{figure}_count", name, outcome] == runs
            assert shown[f"tool_{figure}_sum", name, outcome] > 0
        assert shown["tool_read_bytes_total", name, outcome] >= 0
        assert shown["tool_written_bytes_total", name, outcome] >= 0
    used = results["works"].usage
    assert used is not None
    assert used.peak_memory_bytes > 1 << 20
    assert shown["tool_cpu_seconds_sum", "works", "ok"] >= used.cpu_ms / 1000 > 0
    assert {tool for _name, tool, outcome in shown if outcome} == set(TOOLS)


def _metrics(log: Path) -> dict[tuple[str, str, str], float]:
    """Samples by name, tool and outcome."""
    ready = next(line for line in log.read_text().splitlines() if '"health_port"' in line)
    with urllib.request.urlopen(f"http://127.0.0.1:{json.loads(ready)['health_port']}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    return {
        (
            sample.name.removeprefix("toolmesh_worker_"),
            sample.labels.get("tool", ""),
            sample.labels.get("outcome", ""),
        ): (sample.value)
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if "le" not in sample.labels
    }
