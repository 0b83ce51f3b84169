"""The product page's own example toolsets run unmodified, through `toolmesh up` and `toolmesh call`.

They are third-party files and not part of this repository: `make cases CASES=FOLDER` says where they are.
"""

import json
import os
from pathlib import Path

import pytest
from tests.support.running_mesh import run_toolmesh, running_mesh

if "TOOLMESH_CASES" not in os.environ:
    pytest.skip("run by `make cases`, which says where the cases are", allow_module_level=True)

EXAMPLES = Path(os.environ["TOOLMESH_CASES"]) / "page-examples"


async def test_function_tool_runs(tmp_path: Path) -> None:
    """The function tool: its status on stderr, its result on stdout."""
    async with running_mesh([EXAMPLES / "weather"], data_folder=tmp_path / "mesh") as mesh:
        called = await mesh.toolmesh("call", "get_forecast", "--args", '{"city": "Oslo"}')
        listed = await mesh.toolmesh("tools", "list", "--json")
    assert called.code == 0, called.stderr
    assert "Sunny in Oslo, 22 C." in called.stdout
    assert "looking up forecast for Oslo" in called.stderr
    tools = {tool["name"]: tool for tool in json.loads(listed.stdout)["tools"]}
    assert tools["get_forecast"]["description"] == "Return the current forecast for a city."


async def test_provider_runs_also_under_another_name(tmp_path: Path) -> None:
    """Both tools of the provider, and one of them under an outer name by `_str_binary`."""
    agent = tmp_path / "agent.yaml"
    agent.write_text(
        "agents:\n"
        "  - name: guide\n"
        "    tools:\n"
        "      - tool_type: builtin\n"
        "        tool_name: forecast_for_hikers\n"
        "        tool_config:\n"
        "          _str_binary: get_forecast\n"
    )
    async with running_mesh([EXAMPLES / "weather_tools"], agents=[agent], data_folder=tmp_path / "mesh") as mesh:
        forecast = await mesh.toolmesh("call", "get_forecast", "--args", '{"city": "Bergen"}', "--json")
        alerts = await mesh.toolmesh("call", "get_alerts", "--args", '{"region": "NO-03"}', "--json")
        renamed = await mesh.toolmesh(
            "call", "forecast_for_hikers", "--agent", "guide", "--args", '{"city": "Alta"}', "--json"
        )
    assert json.loads(forecast.stdout)["data"] == {"forecast": "Sunny in Bergen, 22 C."}
    assert json.loads(alerts.stdout)["data"] == {"alerts": []}
    assert json.loads(renamed.stdout)["data"] == {"forecast": "Sunny in Alta, 22 C."}


async def test_both_folders_in_one_pool_are_refused(tmp_path: Path) -> None:
    """Both define `get_forecast`: the error names the tool and both manifests, and nothing is started."""
    folders = [str(EXAMPLES / name) for name in ("weather", "weather_tools")]
    refused = await run_toolmesh("up", "--data", str(tmp_path / "mesh"), "--tools", folders[0], "--tools", folders[1])
    assert refused.code == 2
    assert "get_forecast" in refused.stderr
    assert all(f"{folder}/manifest.yaml" in refused.stderr for folder in folders)
