"""The repository's example tools, run by the wire contract."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.tool_process import LAUNCHER, ToolProcess

from toolmesh_contracts.agent_config.loading import load_agent_file
from toolmesh_contracts.manifest import load_manifest

EXAMPLES = Path(__file__).parents[3] / "examples"

CALLS = [
    ("weather", "weather", {"city": "Oslo"}, {}, "Sunny in Oslo, 22 C.", ["asking the station in Oslo"]),
    ("weather", "weather", {"city": "Oslo"}, {"units": "fahrenheit"}, "Sunny in Oslo, 72 F.", None),
    ("outlook", "outlook", {"city": "Oslo", "days": 2}, {}, "Sunny in Oslo, 22 C.\nCloudy in Oslo, 21 C.", []),
    ("outlook", "outlook", {"city": "Oslo", "days": "1"}, {"units": "fahrenheit"}, "Sunny in Oslo, 72 F.", None),
    ("outlook", "warnings", {"region": "NO-03"}, {}, "No warnings of level yellow or worse in NO-03.", []),
]


@pytest.mark.parametrize(("program", "name", "args", "config", "message", "statuses"), CALLS)
def test_each_example_tool_answers(
    tool: ToolProcess, program: str, name: str, args: Any, config: Any, message: str, statuses: list[str] | None
) -> None:
    """What the demo and the README show."""
    tool.write((EXAMPLES / "weather" / f"{program}.py").read_text())
    outcome = tool.call(args, tool_name=name, tool_config=config)
    assert outcome.result["message"] == message
    assert statuses is None or outcome.statuses == statuses


def test_manifest_programs_and_agent_name_the_same_tools() -> None:
    """A tool that only one of them knows could not be called."""
    manifest = load_manifest(EXAMPLES / "weather/manifest.yaml")
    assert manifest.problems == ()
    described: dict[str, str] = {}
    import subprocess

    for program in {entry.executable for entry in manifest.tools.values()}:
        command = [sys.executable, str(LAUNCHER), str(EXAMPLES / "weather" / f"{program}.py"), "--schema"]
        done = subprocess.run(command, capture_output=True, check=True, timeout=30)
        described.update(dict.fromkeys(json.loads(done.stdout)["tools"], program))
    assert described == {name: entry.executable for name, entry in manifest.tools.items()}
    agents = load_agent_file(EXAMPLES / "agents/weather_agent.yaml", {})
    assert agents.problems == ()
    (agent,) = agents.agents
    called = {entry.entry.tool_config.get("_str_binary", entry.entry.tool_name) for entry in agent.tools}  # type: ignore[union-attr]
    assert called == set(described)
