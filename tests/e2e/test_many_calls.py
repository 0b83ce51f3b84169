"""Two worker processes share many calls, and a full run leaves no secret anywhere."""

import asyncio
import collections
import json
import os
from pathlib import Path

import pytest
from tests.support.running_mesh import run_toolmesh, running_mesh
from tests.support.sample_toolsets import write_toolset

import toolmesh_client
from toolmesh_contracts.envelopes.reply import Outcome

ROOT = Path(__file__).parents[2]
WEATHER = ROOT / "examples" / "weather"
ODD = ROOT / "tests" / "toolsets" / "odd"


@pytest.mark.timeout(180)
@pytest.mark.requirement("call:shared")
async def test_two_workers_share_two_hundred_calls(tmp_path: Path) -> None:
    """All 200 parallel calls are right, and each worker ran at least 60 of them."""
    async with (
        running_mesh([WEATHER], workers=2, data_folder=tmp_path / "mesh") as mesh,
        toolmesh_client.connect(data_folder=mesh.data_folder) as client,
    ):
        cities = [f"City {number}" for number in range(200)]
        async with asyncio.timeout(150):
            results = await asyncio.gather(*(client.call("weather", {"city": city}, timeout_s=140) for city in cities))
    assert [result.outcome for result in results] == [Outcome.OK] * 200
    assert [result.message for result in results] == [f"Sunny in {city}, 22 C." for city in cities]
    shares = collections.Counter(result.worker for result in results)
    assert set(shares) == {"worker-1", "worker-2"}
    assert min(shares.values()) >= 60, shares


def of_all_processes(name: str) -> bytes:
    """`cmdline` or `environ` of all processes that can be read, but for this test's own."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and int(process.name) != os.getpid():
            try:
                found.append((process / name).read_bytes())
            except OSError:
                continue
    return b"\n".join(found)


PUBLISHING = '''
from pathlib import Path

from toolmesh_sdk import DataDisposition, DataObject, SandboxToolContextFacade, ToolResult, tool_cli


def publish(ctx: SandboxToolContextFacade) -> ToolResult:
    """Give the configured address away in every way there is."""
    url = ctx.get_config("url")
    Path("output/left.txt").write_text(f"left: {url}")
    return ToolResult.ok(
        f"message: {url}",
        data={"value": url},
        data_objects=[
            DataObject("inline.txt", f"inline: {url}", "text/plain", DataDisposition.INLINE, url),
            DataObject("kept.txt", f"kept: {url}", "text/plain", DataDisposition.ARTIFACT, url),
            DataObject("seen.txt", f"seen: {url} " * 9, "text/plain", DataDisposition.ARTIFACT_WITH_PREVIEW, url),
        ],
    )


cli = tool_cli(publish)

if __name__ == "__main__":
    cli()
'''


@pytest.mark.requirement("identity:sealed")
async def test_full_run_leaves_no_secret_anywhere(tmp_path: Path) -> None:
    """A secret of an agent's tool_config and every key of the mesh stand in no log, stream, command line or output."""
    secret = "violet-harbour-7731"
    agent = tmp_path / "agent.yaml"
    agent.write_text(
        "agents:\n"
        "  - name: clerk\n"
        "    tools:\n"
        "      - {tool_type: builtin, tool_name: tell, tool_config: {url: '${DATABASE_URL}', units: metric}}\n"
        "      - {tool_type: builtin, tool_name: fail, tool_config: {url: '${DATABASE_URL}'}}\n"
        "      - {tool_type: builtin, tool_name: slow, tool_config: {url: '${DATABASE_URL}'}}\n"
        "      - {tool_type: builtin, tool_name: publish, tool_config: {url: '${DATABASE_URL}'}}\n"
    )
    environment = {"DATABASE_URL": f"db://ada:{secret}@host/x"}
    outputs = []
    publishing = write_toolset(tmp_path / "publishing", {"publish": (PUBLISHING, {})})
    async with running_mesh([ODD, publishing], agents=[agent], data_folder=tmp_path / "mesh", workers=2) as mesh:

        async def call(tool: str, arguments: str = "{}", *more: str) -> None:
            done = await run_toolmesh(
                "call",
                tool,
                "--agent",
                "clerk",
                "--args",
                arguments,
                "--json",
                *more,
                data_folder=mesh.data_folder,
                extra_environment=environment,
            )
            outputs.append(done.stdout + done.stderr)

        await call("tell")
        await call("fail")
        await call("publish", "{}", "--save-artifacts", str(tmp_path / "saved"))
        async with asyncio.TaskGroup() as group:
            group.create_task(call("slow", '{"seconds": 3}'))
            await asyncio.sleep(2)
            arguments, environments = of_all_processes("cmdline"), of_all_processes("environ")
        data = mesh.data_folder
        seeds = [path.read_bytes().strip() for path in (data / "credentials").iterdir()]
        private = list(data.rglob("*.private.json"))
        keys = [part for path in private for part in private_parts(path)]
        allowed = {*private, *(data / "credentials").iterdir()}
        files = b"\n".join(path.read_bytes() for path in data.rglob("*") if path.is_file() and path not in allowed)
    assert '"units": "metric"' in outputs[0]
    assert "can't reach" in outputs[1]
    published = {path.name: path.read_text() for path in (tmp_path / "saved").iterdir()}
    assert {name: text.partition(": ")[0] for name, text in published.items()} == {
        "left.txt": "left",
        "kept.txt": "kept",
        "seen.txt": "seen",
    }
    assert all(len(text) > len("left: ") for text in published.values()), published
    assert "inline: " in outputs[2]
    assert '"at last"' in outputs[3]
    assert b"slow" in arguments
    assert len(seeds) >= 4
    assert len(keys) >= 3
    everything = files + "".join((*outputs, *published.values())).encode() + "".join(mesh.progress).encode()
    for hidden in (secret.encode(), *seeds, *keys):
        assert hidden not in everything
        assert hidden not in arguments
        if hidden != secret.encode():  # the caller's own environment holds it, by this test's doing
            assert hidden not in environments


def private_parts(path: Path) -> list[bytes]:
    """The private numbers of a key file."""
    document = json.loads(path.read_text())
    return [key["d"].encode() for key in document["keys"] if "d" in key]
