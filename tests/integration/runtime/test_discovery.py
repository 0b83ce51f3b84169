"""Toolset folders as people leave them: what works is served, what doesn't is named, and neither blocks the other."""

import asyncio
from pathlib import Path

import msgspec
import pytest
from tests.support.toolset_reading import GOOD, discovery, toolset
from tests.support.worker_mesh import POOL, broker_and_client, worker_in_process

from toolmesh_contracts.config_problems import ConfigError


@pytest.mark.requirement("tool:broken")
async def test_broken_programs_are_named_and_the_good_one_served(tmp_path: Path) -> None:
    """A crash at import, an endless import, noise without a schema, an exit in silence: each has its own message."""
    folder = toolset(
        tmp_path,
        good=GOOD,
        crash="import no_such_module\n",
        endless="import time\ntime.sleep(60)\n",
        noise="print('hello')\n",
        silent="import os\nos._exit(4)\n",
    )
    async with discovery(folder, limit_s=4) as found:
        inventory = await found.read()
    assert set(inventory.tools) == {"good"}
    problems = {problem.tool: problem.message for problem in inventory.problems}
    assert problems["crash"].startswith("crash.py:1: --schema ended with exit code 1")
    assert "No module named 'no_such_module'" in problems["crash"]
    assert "longer than 4 s" in problems["endless"]
    assert "no usable answer" in problems["noise"]
    assert "exit code 4" in problems["silent"]


async def test_noise_around_the_schema_does_no_harm(tmp_path: Path) -> None:
    """A tool may print at import."""
    folder = toolset(tmp_path, good="print('loading {braces} and more')\n" + GOOD + "    print('bye')\n")
    async with discovery(folder) as found:
        assert set((await found.read()).tools) == {"good"}


DECLARED = '''
print("loading")
from toolmesh_sdk import (
    Artifact, ConfigSchemaField, VolumeParam, tool_cli, tool_timeout, with_auth, with_config_schema, with_raw_string_args,
    with_volume_params,
)

@tool_timeout(17)
@with_auth({"type": "oauth2", "scheme": {"authorization_url": "https://a/x", "token_url": "https://a/t", "scopes": ["r"]}})
@with_config_schema([ConfigSchemaField("key", "string", "The key.", True, True)])
@with_volume_params([VolumeParam("data", "/data", "readwrite", "Scratch.")])
@with_raw_string_args("sql")
def query(sql: str, docs: list[Artifact] | None = None) -> str:
    """Query."""
    return sql

tool_cli(query)()
'''


async def test_all_that_a_tool_declares_is_in_the_catalog(tmp_path: Path) -> None:
    """Sign-in, settings, volumes, artifacts, texts that stay raw and the time limit are what a caller finds."""
    folder = toolset(tmp_path / "tools", query=DECLARED)
    async with broker_and_client(tmp_path) as mesh, worker_in_process(mesh, [folder]):
        shown = mesh.client.catalog.get(POOL, "query")
    assert shown is not None
    entry = msgspec.json.decode(msgspec.json.encode(shown.entry))
    assert entry["auth"]["type"] == "oauth2"
    assert entry["auth"]["scheme"]["scopes"] == ["r"]
    (field,) = entry["config_schema"]
    assert (field["key"], field["required"], field["secret"]) == ("key", True, True)
    (volume,) = entry["volume_parameters"]
    assert (volume["name"], volume["mount_path"], volume["mode"]) == ("data", "/data", "readwrite")
    assert entry["artifact_parameters"] == {"docs": {"is_list": True, "is_optional": True}}
    assert (entry["raw_string_arguments"], entry["timeout_ms"]) == (["sql"], 17_000)
    assert (entry["description"], entry.get("instructions", "")) == ("Query.", "")


@pytest.mark.requirement("tool:mistakes")
async def test_bad_manifest_entry_leaves_the_others(tmp_path: Path) -> None:
    """An unknown key is named with its line and the nearest spelling; the neighbour is served."""
    folder = toolset(tmp_path, good=GOOD)
    with (folder / "manifest.yaml").open("a") as file:
        file.write("  bad: {executable: bad, timeout_second: 5}\n")
    async with discovery(folder) as found:
        inventory = await found.read()
    assert set(inventory.tools) == {"good"}
    (problem,) = inventory.problems
    assert problem.tool == "bad"
    assert "timeout_seconds" in problem.message
    assert "manifest.yaml:4" in problem.message


async def test_tool_of_another_pool_is_not_served(tmp_path: Path) -> None:
    """The pool is the trust boundary: a worker loads only what its pool is for."""
    folder = toolset(tmp_path, good=GOOD)
    with (folder / "manifest.yaml").open("a") as file:
        file.write("  other: {executable: good, tool_dir: good, pool: gpu}\n")
    async with discovery(folder) as found:
        inventory = await found.read()
    assert (set(inventory.tools), inventory.problems) == ({"good"}, ())


@pytest.mark.requirement("tool:twice")
async def test_same_tool_in_two_folders_is_refused(tmp_path: Path) -> None:
    """The error names both manifests."""
    for name in ("one", "two"):
        toolset(tmp_path / name, good=GOOD)
    async with discovery(tmp_path) as found:
        with pytest.raises(ConfigError) as caught:
            await found.read()
    assert str(tmp_path / "one" / "manifest.yaml") in str(caught.value)
    assert str(tmp_path / "two" / "manifest.yaml") in str(caught.value)


@pytest.mark.requirement("tool:reloaded")
async def test_change_is_a_new_version_and_the_old_one_stays(tmp_path: Path) -> None:
    """Running calls keep the folder they started with; an unchanged folder is not asked again."""
    folder = toolset(tmp_path, good=GOOD)
    async with discovery(folder) as found:
        first = (await found.read()).tools["good"]
        assert (await found.read()).tools["good"] == first
        (folder / "good" / "good.py").write_text(GOOD.replace("something", "much"))
        second = (await found.read()).tools["good"]
        assert first.program.folder.is_dir()
    assert first.version != second.version
    assert second.description.description == "Tell much about a city."


async def test_many_hanging_programs_delay_the_good_ones_little(tmp_path: Path) -> None:
    """A dozen programs that never answer cost one limit, not one each, and the good one is served."""
    hanging = {f"hang{number}": "import time\ntime.sleep(100)\n" for number in range(12)}
    folder = toolset(tmp_path, **hanging, good=GOOD)
    async with discovery(folder, limit_s=10) as found, asyncio.timeout(40):
        inventory = await found.read()
    assert set(inventory.tools) == {"good"}
    assert {problem.tool for problem in inventory.problems} == set(hanging)
