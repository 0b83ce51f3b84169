"""What `make demo` runs."""

import re

import pytest
from tests.support.running_mesh import run_toolmesh


@pytest.mark.timeout(90)
@pytest.mark.requirement("demo:forecast")
async def test_the_demo_prints_the_forecast_and_ends_with_ok() -> None:
    """All example tools are called, an agent answers through a worker's tool, a peer and its declared tool; no colours in a pipe."""
    shown = await run_toolmesh("demo")

    assert shown.code == 0, shown.stdout + shown.stderr
    lines = shown.stdout.splitlines()
    assert any(re.match(r"worker-\d  asking the station in Oslo", line) for line in lines)
    assert "Sunny in Oslo, 22 C." in lines
    assert "Sunny in Oslo, 72 F." in lines
    assert any(line.startswith("No warnings") for line in lines)
    steps = ["weather  asking the station in Oslo", "peer_library_desk > find_books  ok", "peer_library_desk  ok"]
    assert set(steps) <= set(lines), shown.stdout
    assert "Sunny in Oslo, 22 C. The library has 'Otters of the North' by Ivo Lind." in lines
    assert re.fullmatch(r"demo: ok in \d+(\.\d)? s", lines[-1])
    assert "\x1b" not in shown.stdout + shown.stderr
