"""What tools of our SDK declare, in every style, as a real worker's callers see it; and what can't be declared."""

import asyncio
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.support.sample_toolsets import ECHO, write_toolset
from tests.support.undescribable_tools import BROKEN, UNDESCRIBED
from tests.support.worker_mesh import POOL, WorkerMesh, broker_and_client, worker_in_process

import toolmesh_sdk
from toolmesh_broker.heartbeats import read_heartbeats
from toolmesh_contracts.envelopes.catalog import DescribeReply, DescribeRequest
from toolmesh_contracts.errors import ErrorCode
from toolmesh_contracts.headers import SCHEMA
from toolmesh_contracts.wire import decode, encode, schema_name

OWN = Path(__file__).parents[2] / "toolsets" / "own"


def shown(mesh: WorkerMesh, tool: str) -> dict[str, Any]:
    """A tool's entry in the catalog."""
    found = mesh.client.catalog.get(POOL, tool)
    assert found is not None, tool
    return dict(msgspec.json.decode(msgspec.json.encode(found.entry)))


async def problems(mesh: WorkerMesh) -> dict[str, str]:
    """What the worker says of tools that it can't serve."""
    while not (heartbeats := [one for one in await read_heartbeats(mesh.client.broker) if one.kind == "worker"]):
        await asyncio.sleep(0.05)
    return {problem.tool: problem.message for heartbeat in heartbeats for problem in heartbeat.problems}


async def test_every_style_declares_all_that_a_function_does(tmp_path: Path) -> None:
    """A provider's functions keep their limit, volumes and raw texts, a class its fields, files and instructions."""
    (tmp_path / "note.txt").write_text("soft words")
    async with broker_and_client(tmp_path) as mesh, worker_in_process(mesh, [OWN]):
        limited, classy = shown(mesh, "limited"), shown(mesh, "classy")
        called = await mesh.client.call("limited", {"text": "t"}, tool_config={"key": "k"})
        read = await mesh.client.call("classy", artifacts={"doc": tmp_path / "note.txt"}, tool_config={"key": "k"})
    assert limited["description"] == "Show the provider's settings, although it is described over two lines."
    assert limited["instructions"] == "Only the first paragraph is the description."
    assert (limited["timeout_ms"], limited["raw_string_arguments"]) == (7000, ["text"])
    assert limited["volume_parameters"][0]["mount_path"] == "/data"
    assert limited["parameters"]["properties"]["text"]["description"] == "Stays raw."
    assert (classy["timeout_ms"], classy["raw_string_arguments"], classy["resolution_type"]) == (9000, ["sql"], "all")
    assert (classy["instructions"], classy["config_schema"][0]["secret"]) == ("Read it twice.", True)
    assert classy["artifact_parameters"] == {"doc": {}}
    assert json.loads(called.message) == ["Base", {"key": "k"}, "t"]
    assert json.loads(read.message) == ["soft words", {"key": "k"}, "ada"]


async def test_a_childs_tools_are_its_own(tmp_path: Path) -> None:
    """Parent and child are programs of one module: the child's tool is not served by its parent."""
    toolset = tmp_path / "toolset"
    write_toolset(toolset, {})
    for name in ("family.py", "base.py", "child.py"):
        (toolset / name).write_text((OWN / name).read_text())
    entries = {"replaced": "base", "own": "child", "limited": "child", "gone": "base"}
    tools = {name: {"executable": program, "tool_dir": "."} for name, program in entries.items()}
    (toolset / "manifest.yaml").write_text(json.dumps({"version": 1, "tools": tools}))
    async with broker_and_client(tmp_path) as mesh, worker_in_process(mesh, [toolset], served=3):
        told = [(await mesh.client.call(name)).message for name in ("replaced", "own")]
        inherited = await mesh.client.call("limited", {"text": "t"})
        missing = await problems(mesh)
    assert told == ["base", "own"]
    assert json.loads(inherited.message)[0] == "Child"
    assert "gone" in missing


@pytest.mark.requirement("tool:broken")
async def test_what_cannot_be_described_is_named_and_its_neighbour_served(tmp_path: Path) -> None:
    """No description in any style, no schema, two tools of one name, and a fault in the description itself."""
    sources = {f"undescribed{number}": source for number, source in enumerate(UNDESCRIBED.values())}
    sources |= {f"broken{number}": source for number, source in enumerate(BROKEN.values())}
    sources["reserved"] = "@with_config_schema([ConfigSchemaField('auth')])\ndef run():\n    'Do.'\ntool_cli(run)()"
    programs: dict[str, tuple[str, dict[str, Any]]] = {
        name: (f"from toolmesh_sdk import *\n{source}", {}) for name, source in sources.items()
    }
    toolset = write_toolset(tmp_path / "toolset", {"echo": (ECHO, {}), **programs})
    async with broker_and_client(tmp_path) as mesh, worker_in_process(mesh, [toolset], served=1):
        served = (await mesh.client.call("echo", {"text": "t"})).message
        told = await problems(mesh)
    assert served == "you said t"
    assert set(told) == set(sources)
    assert all("has no description: write " in told[f"undescribed{number}"] for number in range(len(UNDESCRIBED)))
    for number, reason in enumerate(BROKEN):
        assert reason in told[f"broken{number}"]
    assert "auth" in told["reserved"]


MANY = '''
from typing import Dict, TypedDict
from toolmesh_sdk import Artifact, DynamicToolProvider, provider_cli

class Many(DynamicToolProvider):
    def create_tools(self, tool_config=None):
        return []

@Many.register_tool
def numbers(count: int, note: str | None, days: int = 3, *more, **rest: int):
    """Count.

    Parameters
    ----------
    count : int
        How many.

    Notes
    -----
    Nothing else.
    """
    return {"count": count, "note": note, "days": days, "more": len(more), "rest": rest}

class Spread(TypedDict):
    """What was spread."""

    values: list[float]
    flags: dict[str, bool]

@Many.register_tool
def spread(values: list[float], flags: dict[str, bool]) -> Spread:
    """Spread.

    :param values: What to spread.
    """
    return {"values": values, "flags": flags}

@Many.register_tool
def named(doc: Artifact, files: Dict[str, Artifact]):
    """Read."""
    return {name: file.as_text() for name, file in files.items()}

provider_cli(Many)()
'''


async def test_defaults_doubtful_values_and_further_arguments_arrive_as_meant(tmp_path: Path) -> None:
    """What is required is so, defaults apply, quotes are seen through at any depth, what can't be meant is named."""
    toolset = tmp_path / "toolset"
    write_toolset(toolset, {"numbers": (MANY, {})})
    entries = {name: {"executable": "numbers", "tool_dir": "numbers"} for name in ("numbers", "spread", "named")}
    (toolset / "manifest.yaml").write_text(json.dumps({"version": 1, "tools": entries}))
    (tmp_path / "note.txt").write_text("soft words")
    async with broker_and_client(tmp_path) as mesh, worker_in_process(mesh, [toolset]):
        call, files = mesh.client.call, {"doc": tmp_path / "note.txt"}
        numbers = shown(mesh, "numbers")
        schema = numbers["parameters"]
        described = shown(mesh, "spread")
        texts = described["parameters"]["properties"]["values"]["description"]
        counted = await call("numbers", {"count": "2", "extra": "5"})
        spread = await call("spread", {"values": ["1", 2], "flags": '{"a": "true"}'})
        wrong = await call("spread", {"values": [1, "x"], "flags": {}})
        named = await call("named", {"files": {"a": "note.txt"}}, artifacts=files)
    assert schema["required"] == ["count"]
    assert schema["properties"]["count"] == {"type": "integer", "description": "How many."}
    assert schema["properties"]["days"]["default"] == 3
    assert schema["additionalProperties"] == {"type": "integer"}
    assert texts == "What to spread."
    assert set(described["output_schema"]["properties"]) == {"values", "flags"}
    assert described["sdk"] == f"toolmesh_sdk {toolmesh_sdk.__version__}"
    assert "output_schema" not in numbers
    assert counted.data == {"count": 2, "note": None, "days": 3, "more": 0, "rest": {"extra": 5}}, counted
    assert spread.data == {"values": [1.0, 2.0], "flags": {"a": True}}, spread
    assert wrong.error is not None
    assert (wrong.error.code, "values[1]" in wrong.error.message) == (ErrorCode.INVALID_ARGUMENTS, True)
    assert named.data == {"a": "soft words"}, named


CONFIGURED = '''
from toolmesh_sdk import tool_cli, with_dynamic_schema

def changed(config):
    return {"description": f"Under {sorted(config)}.", "timeout_seconds": 1, "instructions": None}

@with_dynamic_schema(changed)
def configured() -> str:
    """Say it."""
    return "said"

tool_cli(configured)()
'''


async def test_an_empty_configuration_counts_as_given(tmp_path: Path) -> None:
    """The description is the one under `{}`; what can't be changed and null are passed over."""
    toolset = write_toolset(tmp_path / "toolset", {"configured": (CONFIGURED, {})})
    request = DescribeRequest(request="r-1", executor="client", tool="configured", tool_config=msgspec.Raw(b"{}"))
    async with broker_and_client(tmp_path) as mesh, worker_in_process(mesh, [toolset]):
        broker = mesh.client.broker
        headers = {SCHEMA: schema_name(DescribeRequest)}
        answer = await broker.request(broker.subjects.describe(POOL, "configured"), encode(request), 10, headers)
        plain = shown(mesh, "configured")
    reply = decode(DescribeReply, answer.body)
    assert reply.entry is not None, reply
    assert (reply.entry.description, reply.entry.timeout_ms) == ("Under [].", 30_000)
    assert plain["description"] == "Say it."


LISTING = """
import json, sys

TOOL = {
    "description": "Read the files of a list.",
    "parameters": {
        "type": "object",
        "properties": {"docs": {"type": "array", "items": {"type": "object", "properties": {"file": {"type": "string"}}}}},
        "required": ["docs"],
    },
    "artifact_params": {"docs": {"is_list": True, "filename_key": "file"}},
}

if "--schema" in sys.argv:
    print(json.dumps({"tools": {"listing": TOOL}}))
else:
    call = json.load(open(sys.argv[1]))
    texts = [open(call["artifact_paths"][f"docs[{number}]"]).read() for number in range(len(call["args"]["docs"]))]
    json.dump({"result": " ".join(texts), "error": ""}, open(call["result_file"], "w"))
"""


async def test_objects_that_name_files_keep_their_form(tmp_path: Path) -> None:
    """A program without any SDK: the list of objects is advertised as it is, and its files are looked for."""
    toolset = write_toolset(tmp_path / "toolset", {"listing": (LISTING, {})})
    (tmp_path / "a.txt").write_text("one")
    async with broker_and_client(tmp_path) as mesh, worker_in_process(mesh, [toolset]):
        entry = shown(mesh, "listing")
        sent = {"docs": [{"file": "a.txt"}]}
        read = await mesh.client.call("listing", sent, artifacts={"docs[0]": tmp_path / "a.txt"})
        missing = await mesh.client.call("listing", sent)
    assert entry["parameters"]["properties"]["docs"]["items"]["type"] == "object"
    assert entry["artifact_parameters"]["docs"]["filename_key"] == "file"
    assert read.message == "one", read
    assert missing.error is not None
    assert missing.error.code is ErrorCode.ARTIFACT_ERROR


async def test_a_program_that_never_answers_is_named_in_time(tmp_path: Path) -> None:
    """Its neighbour is served; how long to wait is the worker's setting."""
    endless = "import time\ntime.sleep(100)\n"
    toolset = write_toolset(tmp_path / "toolset", {"echo": (ECHO, {}), "endless": (endless, {})})
    async with (
        broker_and_client(tmp_path) as mesh,
        worker_in_process(mesh, [toolset], served=1, discovery_seconds=5),
    ):
        told = await problems(mesh)
    assert "longer than 5 s" in told["endless"]
