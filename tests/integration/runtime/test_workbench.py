"""Tools on their author's machine: described, checked and run as by a worker, without a broker."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.support.agent_folder import agent_folder

from toolmesh_client.result import load_result
from toolmesh_contracts.config_problems import ConfigError
from toolmesh_contracts.envelopes.reply import Outcome, Result, StatusState
from toolmesh_contracts.errors import ErrorCode, ToolmeshError
from toolmesh_runtime.workbench.bench import Bench, BenchSettings, open_bench
from toolmesh_runtime.workbench.checking import check_places
from toolmesh_runtime.workbench.entries import find_entries
from toolmesh_runtime.workbench.payload_folder import PayloadFolder
from toolmesh_runtime.workbench.single_run import LOCAL_POOL, SingleRun, run_once

SHOUT = '''
import pathlib

import voice
from toolmesh_sdk import Artifact, ConfigSchemaField, ToolContext, ToolResult, tool_cli, with_config_schema


@with_config_schema([ConfigSchemaField("password", secret=True)])
def shout(text: str, ctx: ToolContext, doc: Artifact | None = None, big: int = 0) -> ToolResult:
    """Say a text loudly.

    Args:
        text: What to say.
    """
    print("to myself", ctx.get_config("password"))
    ctx.send_status("one")
    ctx.send_status("two")
    ctx.save_artifact("out.txt", "x" * 10_000)
    said = voice.loud(text) + (doc.as_text() if doc else "") + str(ctx.get_config("password") or "")
    neighbours = sorted(path.name for path in pathlib.Path(__file__).parent.iterdir())
    return ToolResult.ok(said + "!" * big, data={"neighbours": neighbours})


cli = tool_cli(shout)

if __name__ == "__main__":
    cli()
'''
PLAIN = '''
from toolmesh_sdk import tool_cli

def {name}(city: str) -> str:
    """Tell something about a city."""
    import time
    time.sleep({sleep})
    return city

cli = tool_cli({name})
if __name__ == "__main__":
    cli()
'''

CUT = '''
from toolmesh_sdk import tool_cli

def write(how: str) -> str:
    """Write more than is allowed, or wait before it."""
    import pathlib, time
    pathlib.Path("output/small.txt").write_text("all of it")
    if how == "stuck":
        time.sleep(60)
    try:
        pathlib.Path("output/large.bin").write_bytes(bytes(2 << 20))
    except OSError:
        if how == "fails":
            raise
    return "done"

cli = tool_cli(write)
if __name__ == "__main__":
    cli()
'''


@asynccontextmanager
async def bench(**settings: Any) -> AsyncIterator[Bench]:
    async with open_bench(BenchSettings(**settings)) as opened:
        yield opened


async def run(opened: Bench, place: Path, payloads: PayloadFolder, **options: Any) -> tuple[Result, list[str]]:
    (entry,) = find_entries(place).entries
    (tool,) = (await opened.describe(entry)).values()
    told: list[str] = []

    def overhear(stdout: bytes, stderr: bytes) -> None:
        told.append(f"{stdout.decode().strip()}/{stderr.decode().strip()}")

    result = await run_once(
        SingleRun(tool=tool, **options),
        opened.confinement,
        payloads,
        lambda status: told.append(status.text if status.state is StatusState.PROGRESS else "started"),
        overhear,
    )
    return result, told


async def read(payloads: PayloadFolder, ref: Any) -> bytes:
    return b"".join([chunk async for chunk in payloads.open(ref)])


@pytest.mark.requirement("tool:run")
async def test_a_lone_program_sees_the_python_files_beside_it_and_nothing_else(tmp_path: Path) -> None:
    """Statuses in order, files in and out, a secret hidden, a large result: as a worker does it."""
    (tmp_path / "shout.py").write_text(SHOUT)
    (tmp_path / "voice.py").write_text("def loud(text):\n    return text.upper()\n")
    (tmp_path / "private.txt").write_text("not for tools")
    (tmp_path / "notes.txt").write_text(" (quietly)")
    (tmp_path / "store").mkdir()
    payloads = PayloadFolder(tmp_path / "store")
    async with bench() as opened:
        result, told = await run(
            opened,
            tmp_path / "shout.py",
            payloads,
            arguments=b'{"text": "hello", "doc": "notes.txt"}',
            config={"password": "violet-7731"},
            artifacts={"doc": tmp_path / "notes.txt"},
        )
        large, _ = await run(opened, tmp_path / "shout.py", payloads, arguments=b'{"text": "", "big": 400000}')
        bad, _ = await run(opened, tmp_path / "shout.py", payloads, arguments=b'{"txt": 1}')
        set_badly, told_badly = await run(
            opened, tmp_path / "shout.py", payloads, arguments=b'{"text": "x"}', config={"password": True}
        )
    assert [text for text in told if "myself" not in text] == ["started", "one", "two"]
    assert "to myself [redacted]/" in told
    assert result.outcome is Outcome.OK, result
    assert result.message.startswith("HELLO (quietly)")
    assert "violet" not in str(result)
    assert not isinstance(result.data, msgspec.UnsetType)
    assert msgspec.json.decode(result.data)["neighbours"] == ["shout.py", "voice.py"]
    assert [one.filename for one in result.artifacts] == ["out.txt"]
    assert await read(payloads, result.artifacts[0].payload) == b"x" * 10_000
    assert large.payload is not None
    assert b"!" * 400_000 in await read(payloads, large.payload)
    assert bad.error is not None
    assert bad.error.code is ErrorCode.INVALID_ARGUMENTS
    assert set_badly.error is not None
    assert set_badly.error.code is ErrorCode.INVALID_CONFIGURATION
    assert told_badly == []


@pytest.mark.requirement("tool:settings")
async def test_secrets_that_are_numbers_or_lie_deep_are_hidden_in_all_that_is_shown(tmp_path: Path) -> None:
    """Result, statuses, and what the program prints, whatever form the operator gave them."""
    (tmp_path / "tell.py").write_text("""
import sys
from toolmesh_sdk import ConfigSchemaField, ToolContext, tool_cli, with_config_schema

@with_config_schema([ConfigSchemaField("pin", secret=True), ConfigSchemaField("login", type="object", secret=True)])
def tell(ctx: ToolContext) -> str:
    "Tell all."
    text = f"{ctx.tool_config['pin']} {ctx.tool_config['login']['keys'][0]}"
    ctx.send_status(text)
    print(text)
    print(text, file=sys.stderr)
    return text

cli = tool_cli(tell)
if __name__ == "__main__":
    cli()
""")
    (tmp_path / "store").mkdir()
    config = {"pin": 7731442, "login": {"keys": ["violet-7731"]}}
    async with bench() as opened:
        result, told = await run(
            opened, tmp_path / "tell.py", PayloadFolder(tmp_path / "store"), arguments=b"{}", config=config
        )
    assert result.message == "[redacted] [redacted]"
    assert sorted(told) == sorted(["started", result.message, f"{result.message}/{result.message}"])


@pytest.mark.requirement("tool:settings")
async def test_names_and_descriptions_of_files_hide_secrets_too(tmp_path: Path) -> None:
    """Of saved files, of files beside the index, of returned ones, and of those that are refused; short secrets as words."""
    (tmp_path / "tell.py").write_text("""
from pathlib import Path
from toolmesh_sdk import ConfigSchemaField, DataObject, ToolContext, ToolResult, tool_cli, with_config_schema

@with_config_schema([ConfigSchemaField("word", secret=True), ConfigSchemaField("pin", secret=True)])
def tell(ctx: ToolContext) -> ToolResult:
    "Tell all."
    word, pin = ctx.tool_config["word"], ctx.tool_config["pin"]
    ctx.save_artifact(f"a {word}.txt", word + " " + pin, "text/plain", description=word)
    Path("output/b " + word).write_text(f"{pin}, {pin}0")
    Path(f"output/link {word}").symlink_to("/etc/passwd")
    return ToolResult.ok(f"{pin} of {pin}0", data_objects=[DataObject(f"c {pin}", b"x", "x/y")])

cli = tool_cli(tell)
if __name__ == "__main__":
    cli()
""")
    (tmp_path / "store").mkdir()
    payloads, config = PayloadFolder(tmp_path / "store"), {"word": 'zebra"crossing', "pin": "421"}
    async with bench() as opened:
        result, _ = await run(opened, tmp_path / "tell.py", payloads, arguments=b"{}", config=config)
    contents = {one.filename: await read(payloads, one.payload) for one in result.artifacts}
    assert contents == {
        "a [redacted].txt": b"[redacted] [redacted]",
        "b [redacted]": b"[redacted], 4210",
    }
    assert [one.name for one in result.inline_outputs] == ["c [redacted]"]
    assert result.message == "[redacted] of 4210"
    assert [note for note in result.notes if "link [redacted]" in note]
    assert "zebra" not in repr(result)


async def test_a_large_text_without_data_is_shown_as_it_is(tmp_path: Path) -> None:
    """It travels as a stored document, in which absent data is no null of the tool's."""
    (tmp_path / "tell.py").write_text(PLAIN.format(name="tell", sleep=0))
    (tmp_path / "store").mkdir()
    payloads = PayloadFolder(tmp_path / "store")
    arguments = msgspec.json.encode({"city": "x" * 500_000})
    async with bench() as opened:
        result, _ = await run(opened, tmp_path / "tell.py", payloads, arguments=arguments)
    assert result.payload is not None
    loaded = await load_result(result, LOCAL_POOL, payloads, payloads.bucket, 1 << 20)
    assert loaded.raw_data is None
    assert loaded.text() == "x" * 500_000


async def test_a_program_with_a_manifest_runs_by_it(tmp_path: Path) -> None:
    """Its time limit holds, whether the folder, the manifest or the program is named; another profile can be asked for."""
    (tmp_path / "slow.py").write_text(PLAIN.format(name="slow", sleep=30))
    manifest = tmp_path / "manifest.yaml"
    manifest.write_text("version: 1\ntools: {dawdle: {executable: slow, tool_dir: ., timeout_seconds: 0.5}}\n")
    (tmp_path / "store").mkdir()
    for place in (tmp_path, manifest, tmp_path / "slow.py"):
        assert [entry.name for entry in find_entries(place).entries] == ["dawdle"]
    async with bench(profile="restrictive") as opened:
        (entry,) = find_entries(manifest).entries
        tool = (await opened.describe(entry))["dawdle"]
        result, _ = await run(opened, tmp_path, PayloadFolder(tmp_path / "store"), arguments=b'{"city": "Oslo"}')
    assert tool.program.policy.profile == "restrictive"
    assert result.error is not None
    assert result.error.code is ErrorCode.SANDBOX_TIMEOUT


@pytest.mark.requirement("tool:schema")
async def test_a_description_follows_the_configuration(tmp_path: Path) -> None:
    """A renamed tool keeps the name that its program looks it up by."""
    (tmp_path / "query.py").write_text("""
from toolmesh_sdk import DynamicTool, dynamic_tool_cli

class Query(DynamicTool):
    @property
    def tool_name(self):
        return self.tool_config.get("name", "query")
    @property
    def tool_description(self):
        return "Ask " + self.tool_config.get("database", "any database")
    @property
    def parameters_schema(self):
        return {"type": "object", "properties": {"sql": {"type": "string"}}, "required": ["sql"]}
    async def _run_async_impl(self, args, tool_context=None, credential=None):
        return args["sql"]

cli = dynamic_tool_cli(Query)
if __name__ == "__main__":
    cli()
""")
    (entry,) = find_entries(tmp_path / "query.py").entries
    async with bench() as opened:
        plain = await opened.describe(entry)
        configured = await opened.describe(entry, {"database": "sales", "name": "ask_sales"})
    assert [one.description.description for one in plain.values()] == ["Ask any database"]
    assert [(one.own_name, one.description.description) for one in configured.values()] == [("query", "Ask sales")]


@pytest.mark.requirement("tool:validated")
async def test_the_check_tells_every_problem_with_its_place_and_cure(tmp_path: Path) -> None:
    """Manifest, programs and schemas; a tool of two folders; what is sound is listed."""
    one, two = tmp_path / "one", tmp_path / "two"
    for folder in (one, two):
        folder.mkdir()
        (folder / "good.py").write_text(PLAIN.format(name="good", sleep=0))
    (one / "crash.py").write_text("import os\n\nboom = 1 / 0\n")
    (one / "lacks.py").write_text("import no_such_package\n")
    (one / "syntax.py").write_text("def x(:\n")
    (one / "schema.sh").write_text(
        """#!/bin/sh
echo '{"tools": {"schema": {"description": "", "parameters": {"type": "object", "required": ["x"]}}}}'
"""
    )
    (one / "schema.sh").chmod(0o755)
    names = ["good", "crash", "lacks", "syntax", "gone"]
    lines = [f"  {name}: {{executable: {name}, tool_dir: .}}" for name in names]
    lines += ["  schema: {executable: schema.sh, tool_dir: .}", "  typo: {executable: good, tool_dri: .}"]
    (one / "manifest.yaml").write_text("\n".join(["version: 1", "tools:", *lines, ""]))
    (two / "manifest.yaml").write_text("version: 1\ntools:\n  good: {executable: good, tool_dir: .}\n")
    async with bench() as opened:
        checked = await check_places([tmp_path, tmp_path / "nowhere"], opened)
    told = {str(fault.problem): fault.cure for fault in checked.faults}
    expected = {
        f"{one / 'manifest.yaml'}:9: tools.typo.tool_dri: unknown key": "",
        f"{two / 'manifest.yaml'}: tools.good: tool 'good' of pool 'default' is also defined in": "rename one",
        f"{one / 'crash.py'}:3: tools.crash: --schema ended with exit code 1: ZeroDivisionError": "",
        f"{one / 'lacks.py'}:1: tools.lacks: --schema ended with": f"pip install --target {one / 'python'} no_such_package",
        f"{one / 'syntax.py'}:1: tools.syntax: --schema ended with exit code 1: SyntaxError": "",
        f"{one / 'manifest.yaml'}:7: tools.gone: executable 'gone' is not there": "set `executable`",
        f"{one / 'manifest.yaml'}:8: tools.schema: the tool has no description": "write a docstring",
        f"{one / 'manifest.yaml'}:8: tools.schema: parameters.required names 'x'": "parameters.properties",
        f"{tmp_path / 'nowhere'}: ": "",
    }
    for start, cure in expected.items():
        matching = [text for text in told if text.startswith(start)]
        assert len(matching) == 1, (start, list(told))
        assert cure in told[matching[0]], told[matching[0]]
    assert len(told) == len(expected)
    logs = [fault.log for fault in checked.faults if "ZeroDivisionError" in str(fault.problem)]
    assert "boom = 1 / 0" in logs[0]
    assert checked.tools == ("good", "good")


@pytest.mark.requirement("tool:annotated")
async def test_the_check_tells_the_line_of_an_annotation_and_the_file_that_hides_a_module(tmp_path: Path) -> None:
    """The place is the author's, and the cure is what helps."""
    greet = PLAIN.format(name="greet", sleep=0).replace("city: str)", "city: strr)")
    greet = greet.replace("\n", "from __future__ import annotations\n", 1)
    for name, source in (("greet", greet), ("json", PLAIN.format(name="json", sleep=0))):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.py").write_text(source)
        entry = f"{{executable: {name}, tool_dir: .}}"
        (tmp_path / name / "manifest.yaml").write_text(f"version: 1\ntools: {{{name}: {entry}}}\n")
    async with bench() as opened:
        checked = await check_places([tmp_path], opened)
    told = {Path(fault.problem.file).name: fault for fault in checked.faults}
    assert told["greet.py"].problem.line == 1 + greet.split("\n").index("def greet(city: strr) -> str:")
    assert "there is no strr; did you mean str?" in told["greet.py"].problem.message
    assert told["json.py"].cure.startswith("rename json.py: ")
    assert checked.tools == ()


@pytest.mark.requirement("tool:outputs")
async def test_a_cut_file_is_not_taken_for_a_whole_one(tmp_path: Path) -> None:
    """Not kept of a call that failed; doubted of one that did not, or that was ended early. The limit is named."""
    (tmp_path / "write.py").write_text(CUT)
    entry = "{executable: write, tool_dir: ., timeout_seconds: 4, resource_limits: {max_file_size_mb: 1}}"
    (tmp_path / "manifest.yaml").write_text(f"version: 1\ntools: {{write: {entry}}}\n")
    (tmp_path / "store").mkdir()
    payloads = PayloadFolder(tmp_path / "store")
    results = {}
    async with bench() as opened:
        for how in ("fails", "goes on", "stuck"):
            results[how], _ = await run(opened, tmp_path, payloads, arguments=msgspec.json.encode({"how": how}))
    kept = {how: [one.filename for one in result.artifacts] for how, result in results.items()}
    assert kept == {"fails": ["small.txt"], "goes on": ["large.bin", "small.txt"], "stuck": ["small.txt"]}
    assert results["fails"].outcome is Outcome.ERROR
    assert results["fails"].notes == (
        "output file 'large.bin' was refused: it was cut at 1 MiB, the limit of one file (max_file_size_mb)",
    )
    assert "output file 'large.bin' may be cut" in results["goes on"].notes[0]
    assert results["stuck"].notes == ("the tool was ended before it was done: its output files may be incomplete",)


async def test_a_command_that_can_not_start_is_told_of(tmp_path: Path) -> None:
    """A misspelt program, one that the agent folder lacks, a missing argument of the folder's own; others are sound."""
    agent = agent_folder(tmp_path / "agent", {"sound": "true", "typo": "true", "gone": "true", "lacks": "true"})
    for name, command in (
        ("typo", '["pyhton3", "{package}/tools/sound.toml"]'),
        ("gone", '["{package}/tools/gone.sh"]'),
        ("lacks", '["/usr/bin/python3", "{package}/tools/nope.py"]'),
    ):
        (agent / "tools" / f"{name}.toml").write_text(f'name = "{name}"\ndescription = "x"\ncommand = {command}\n')
    async with bench(profile="declared") as opened:
        checked = await check_places([agent], opened)
    told = {Path(fault.problem.file).stem: fault.problem.message for fault in checked.faults}
    assert "no program 'pyhton3'" in told.pop("typo")
    assert "{package}/tools/gone.sh, which is not in the agent folder" in told.pop("gone")
    assert "{package}/tools/nope.py, which is not in the agent folder" in told.pop("lacks")
    assert told == {}
    assert checked.tools == ("sound",)


def test_places_without_tools_are_named(tmp_path: Path) -> None:
    """A folder without a manifest, and nothing at all."""
    with pytest.raises(ConfigError, match=r"has no manifest\.yaml"):
        find_entries(tmp_path)
    with pytest.raises(ToolmeshError, match="is not there"):
        find_entries(tmp_path / "gone.py")


def test_a_manifest_beside_a_program_that_is_none_of_ours_is_told_of_and_no_obstacle(tmp_path: Path) -> None:
    """Other systems have files of that name; a broken one of ours is named in the same way."""
    (tmp_path / "manifest.yaml").write_text("kind: Deployment\n")
    (tmp_path / "alone.py").write_text(PLAIN.format(name="alone", sleep=0))
    found = find_entries(tmp_path / "alone.py")
    assert [entry.is_alone for entry in found.entries] == [True]
    assert all("manifest.yaml" in str(problem) for problem in found.problems)
    assert found.problems
