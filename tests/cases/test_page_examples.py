"""The product page's own example toolsets run unmodified, through `toolmesh up` and `toolmesh call`.

They are third-party files and not part of this repository: `make cases CASES=FOLDER` says where they are.
"""

import json
import os
import shutil
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


async def test_the_field_guide_runs_as_it_is(tmp_path: Path) -> None:
    """Both declared tools, by name and as an agent's; without a workdir they start in the turn's empty workspace."""
    guide = EXAMPLES / "field_guide"
    async with running_mesh([guide], agents=[guide], data_folder=tmp_path / "mesh") as mesh:
        species = await mesh.toolmesh("call", "species", "--args", '{"habitat": "rivers"}')
        words = await mesh.toolmesh("call", "word_count", "--args", '{"path": "/agent/tools/species.py"}', "--json")
        missing = await mesh.toolmesh("call", "word_count", "--json")
        unknown = await mesh.toolmesh("call", "word_count", "--args", '{"paths": "x"}', "--json")
        agent = await mesh.toolmesh("call", "species", "--agent", "field_guide")
        listed = await mesh.toolmesh("tools", "list", "--json")
    assert (species.code, species.stdout) == (0, "[]\n"), species.stderr
    counted = len((guide / "tools" / "species.py").read_text().split())
    assert json.loads(words.stdout)["message"] == f"{counted}\n"
    assert json.loads(words.stdout)["data"]["exit_code"] == 0
    assert json.loads(missing.stdout)["data"]["exit_code"] == 2
    assert json.loads(unknown.stdout)["error"]["code"] == "INVALID_ARGUMENTS"
    assert (agent.code, agent.stdout) == (0, "[]\n"), agent.stderr
    tools = {tool["name"]: tool for tool in json.loads(listed.stdout)["tools"]}
    assert tools["species"]["required_scopes"] == ["tools:read"]
    assert tools["word_count"]["parameters"]["required"] == ["path"]


async def test_the_field_guide_reads_its_pages_in_data(tmp_path: Path) -> None:
    """With the pages of the page mounted as the workdir, `species` lists what the page says."""
    guide = tmp_path / "guide"
    shutil.copytree(EXAMPLES / "field_guide", guide)
    with (guide / "vessel.toml").open("a") as file:
        file.write(
            f'[[sandbox.mounts]]\nsource = "{EXAMPLES.parent / "declared-fixtures" / "data"}"\ntarget = "/data"\n'
        )
    (guide / "vessel.toml").write_text('workdir = "/data"\n' + (guide / "vessel.toml").read_text())
    async with running_mesh([guide], data_folder=tmp_path / "mesh") as mesh:
        species = await mesh.toolmesh("call", "species", "--args", '{"habitat": "rivers"}', "--json")
    rows = json.loads(json.loads(species.stdout)["message"])
    assert [row["page"] for row in rows] == ["otter.md"]
