"""What a newcomer types: a scaffold, a run without a server, a running mesh that serves it, a call."""

import asyncio
import json
import shutil
from pathlib import Path

import pytest
from tests.support.running_mesh import RunningMesh, run_toolmesh, running_mesh
from tests.support.sample_toolsets import ECHO, WRITING, write_toolset

pytestmark = pytest.mark.timeout(120)

ADA = '{"name": "Ada"}'


@pytest.mark.requirement("tool:first-steps")
async def test_from_nothing_to_a_call_in_four_commands(tmp_path: Path) -> None:
    """The commands that `tool init` prints are those that work; a folder added to a running mesh is served."""
    place = tmp_path / "tools" / "greet"
    made = await run_toolmesh("tool", "init", str(place))
    assert made.code == 0, made.stderr
    assert made.stdout.splitlines() == [
        f"toolmesh tool run {place} --args '{ADA}'",
        f"toolmesh up --tools {place}",
        f"toolmesh call greet --args '{ADA}'",
    ]
    again = await run_toolmesh("tool", "init", str(place))
    assert (again.code, again.stdout) == (2, "")
    assert "not empty" in again.stderr

    ran = await run_toolmesh("tool", "run", str(place), "--args", ADA)
    assert ran.code == 0, ran.stderr
    assert ran.stdout.startswith("Hello, Ada!\n")
    assert ran.stderr.splitlines() == ["local  started", "local  looking for Ada"]

    async with running_mesh([place.parent]) as mesh:
        called = await mesh.toolmesh("call", "greet", "--args", ADA)
        assert called.stdout == ran.stdout, called.stderr

        assert (await run_toolmesh("tool", "init", str(place.parent / "text"), "--style", "provider")).code == 0
        await _served(mesh, "text_count")
        counted = await mesh.toolmesh("call", "text_count", "--args", '{"text": "to be or not to be"}')
        assert counted.stdout.startswith("6 words, 4 different ones\n"), counted.stderr

        await _the_doctor_and_a_shell_know_the_mesh(mesh, place.parent)


async def _served(mesh: RunningMesh, tool: str) -> None:
    async with asyncio.timeout(20):
        while tool not in (await mesh.toolmesh("tools", "list")).stdout.split():
            await asyncio.sleep(0.2)


async def _the_doctor_and_a_shell_know_the_mesh(mesh: RunningMesh, tools: Path) -> None:
    completed = await run_toolmesh(
        data_folder=mesh.data_folder,
        extra_environment={"COMP_WORDS": "toolmesh call te", "COMP_CWORD": "2", "_TOOLMESH_COMPLETE": "complete_bash"},
    )
    assert (completed.stdout.split(), completed.stderr) == (["text_count", "text_find"], "")

    sound = await mesh.toolmesh("doctor", "--json")
    found = json.loads(sound.stdout)
    states = {one["check"]: one["state"] for one in found["findings"]}
    mesh_checks = ("mesh", "broker", "streams", "dead-letters", "clock", "workers", "tools")
    assert {check: states.get(check) for check in mesh_checks} == dict.fromkeys(mesh_checks, "ok"), found
    assert (sound.code, found["ok"]) == (0, True), found

    (tools / "text" / "text.py").write_text("import nothing_of_that_name\n")

    async with asyncio.timeout(20):
        while "problem:" not in (await mesh.toolmesh("tools", "list")).stderr:
            await asyncio.sleep(0.2)
    ill = await mesh.toolmesh("doctor")
    assert ill.code == 1, ill.stdout
    assert "nothing_of_that_name" in ill.stdout
    assert "is still served" in ill.stdout
    assert ill.stdout.splitlines()[-1].startswith("doctor: 2 problems, ")


@pytest.mark.skipif(shutil.which("go") is None, reason="needs the Go compiler")
async def test_a_go_scaffold_builds_and_runs_by_the_contract_alone(tmp_path: Path) -> None:
    """No module but the standard library; unbuilt, it is said how to build it."""
    place = tmp_path / "hello-go"
    assert (await run_toolmesh("tool", "init", str(place), "--lang", "go")).code == 0
    unbuilt = await run_toolmesh("tool", "run", str(place), "--args", ADA)
    assert unbuilt.code == 1
    assert "go build -o hello-go ." in unbuilt.stderr

    build = await asyncio.create_subprocess_exec("go", "build", "-o", "hello-go", ".", cwd=place)
    async with asyncio.timeout(100):
        assert await build.wait() == 0
    ran = await run_toolmesh("tool", "run", str(place), "--args", '{"name": "Ada", "times": 2}')
    assert ran.stdout.startswith("Hello, Ada!\nHello, Ada!\n"), ran.stderr
    assert "looking for Ada" in ran.stderr
    wrong = await run_toolmesh("tool", "run", str(place), "--args", '{"times": 2}')
    assert wrong.code == 2
    assert "name" in wrong.stderr


@pytest.mark.requirement("tool:run")
async def test_a_run_ends_as_a_call_does(tmp_path: Path) -> None:
    """Exit codes, one JSON document, files saved; which tool is asked where there are several."""
    (tmp_path / "crash.py").write_text("import nothing_of_that_name\n")
    toolset = write_toolset(tmp_path / "two", {"echo": (ECHO, {}), "write": (WRITING, {})})
    saved = tmp_path / "saved"
    arguments = json.dumps({"name": "report.txt", "text": "all is well " * 1000})
    done = await run_toolmesh(
        "tool", "run", str(toolset), "--tool", "write", "--args", arguments, "--json", "--save-artifacts", str(saved)
    )
    document = json.loads(done.stdout)
    assert (done.code, document["outcome"], document["tool"]) == (0, "ok", "write"), done.stderr
    assert (saved / "report.txt").read_text() == "all is well " * 1000
    (tmp_path / "talks.py").write_text(
        ECHO.replace("    ctx.send", '    print("as text")\n    raise KeyError(text)\n    ctx.send')
    )
    cases = [
        ([str(tmp_path / "talks.py"), "--args", '{"text": "x"}'], 1, "stdout  as text\n"),
        ([str(toolset)], 2, "there are several tools: echo, write"),
        ([str(toolset), "--tool", "ecko"], 2, "did you mean 'echo'?"),
        ([str(toolset), "--tool", "echo"], 2, "text"),
        ([str(toolset), "--tool", "echo", "--profile", "loose"], 2, "no sandbox profile 'loose'"),
        ([str(tmp_path / "crash.py")], 1, "nothing_of_that_name"),
        ([str(tmp_path / "gone.py")], 2, "is not there"),
    ]
    ended = await asyncio.gather(*(run_toolmesh("tool", "run", *options, "--json") for options, _, _ in cases))
    for one, (options, code, said) in zip(ended, cases, strict=True):
        assert one.code == code, (options, one)
        assert said in one.stderr, (options, one)
        assert json.loads(one.stdout)["outcome"] == "error"


@pytest.mark.requirement("tool:schema")
async def test_checks_and_schemas_are_printed(tmp_path: Path) -> None:
    """Validate counts what is wrong; schema is the catalog's own document."""
    toolset = write_toolset(tmp_path / "one", {"echo": (ECHO, {}), "gone": ("", {"executable": "elsewhere"})})
    checked = await run_toolmesh("tool", "validate", str(toolset))
    assert checked.code == 2
    assert "tools.gone: executable 'elsewhere' is not there" in checked.stdout
    assert "  cure: set `executable`" in checked.stdout
    assert checked.stdout.splitlines()[-1] == "1 problem; usable tools: echo"

    shown = await run_toolmesh("tool", "schema", str(toolset), "--tool", "echo")
    (entry,) = json.loads(shown.stdout)
    assert (entry["tool"], entry["description"]) == ("echo", "Give back a text.")
    assert entry["parameters"]["required"] == ["text"]
