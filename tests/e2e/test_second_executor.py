"""A second executor that comes late knows all that the mesh serves."""

import asyncio
import json
import shutil
import sys
from pathlib import Path

import pytest
from tests.support.running_mesh import running_mesh

ROOT = Path(__file__).parents[2]
WEATHER = ROOT / "examples" / "weather"
AGENT = ROOT / "examples" / "agents" / "weather_agent.yaml"
SETTLED_S = 1.0


async def first_lines(process: asyncio.subprocess.Process) -> list[str]:
    """What an executor logs until it is ready, within a second of connecting, and in the second after that."""
    assert process.stderr is not None
    events: list[str] = []
    for event, within_s in (("broker connected", 30.0), ("ready", SETTLED_S)):
        async with asyncio.timeout(within_s):
            while event not in events:
                line = await process.stderr.readline()
                assert line, events
                events.append(json.loads(line)["event"])
    try:
        async with asyncio.timeout(SETTLED_S):
            while line := await process.stderr.readline():
                events.append(json.loads(line)["event"])
    except TimeoutError:
        pass
    return events


@pytest.mark.timeout(90)
@pytest.mark.requirement("broker:catalog")
async def test_a_later_executor_process_misses_no_tool(tmp_path: Path) -> None:
    """None of its agents' tools is ever unserved to it; one that nobody serves is told at once."""
    async with running_mesh([WEATHER], agents=[AGENT], data_folder=tmp_path / "data") as mesh:
        config = mesh.data_folder / "executor.yaml"
        told = {}
        for name, tool in (("complete", ""), ("lacking", "      - {tool_type: builtin, tool_name: ghost}\n")):
            agent = tmp_path / f"{name}.yaml"
            shutil.copyfile(AGENT, agent)
            agent.write_text(agent.read_text() + tool)
            own = tmp_path / f"executor-{name}.yaml"
            own.write_text(config.read_text().replace(str(AGENT), str(agent)))
            assert str(agent) in own.read_text()
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "toolmesh_executor", str(own), stderr=asyncio.subprocess.PIPE
            )
            try:
                told[name] = await first_lines(process)
            finally:
                process.kill()
                await process.communicate()
        assert told["complete"] == ["broker connected", "ready"]
        assert told["lacking"].count("tool can't be called") == 1
