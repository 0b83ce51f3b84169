"""A mesh from start to stop, and what commands do with it: real processes throughout."""

import asyncio
import json
import os
import signal
import sys
import uuid
from pathlib import Path

import pytest
from tests.support.embedded_broker import eventually
from tests.support.mesh_processes import alive, processes_of, processes_with
from tests.support.nats_server import nats_server
from tests.support.running_mesh import RunningMesh, run_toolmesh, running_mesh, start_toolmesh
from tests.support.sample_toolsets import ECHO, FAILING, READING, SLEEPING, WRITING, write_toolset
from tests.support.signal_dispositions import disposition

pytestmark = pytest.mark.timeout(240)

_AGENT = """
agents:
  - name: parrot
    tools:
      - tool_type: builtin
        tool_name: repeat_after_me
        tool_config: {_str_binary: echo}
"""


def _sample_tools(folder: Path) -> Path:
    return write_toolset(
        folder / "samples",
        {
            "echo": (ECHO, {}),
            "fail": (FAILING, {}),
            "sleep": (SLEEPING, {"timeout_seconds": 20}),
            "write": (WRITING, {}),
            "guarded": (ECHO.replace("def echo", "def guarded").replace("tool_cli(echo)", "tool_cli(guarded)"),
                        {"required_scopes": ["tool:guarded:use"]}),
            "brief": (SLEEPING.replace("def sleep", "def brief").replace("tool_cli(sleep)", "tool_cli(brief)"),
                      {"timeout_seconds": 1}),
        },
    )  # fmt: skip


@pytest.mark.requirement("cli:exit-codes")
@pytest.mark.requirement("cli:streams")
@pytest.mark.requirement("up:one-command")
async def test_a_mesh_from_start_to_stop(tmp_path: Path) -> None:
    """Ready line, calls with every documented exit code, the list, and an end that leaves nothing behind."""
    agents = tmp_path / "parrot.yaml"
    agents.write_text(_AGENT)
    async with running_mesh([_sample_tools(tmp_path)], workers=2, agents=[agents]) as mesh:
        assert "6 tools in pool default, 2 workers; try: toolmesh call " in mesh.ready_line
        assert "\x1b" not in mesh.ready_line
        assert not [line for line in mesh.progress if "warning" in line], "every tool of the agent is served"
        await _calls_end_as_documented(mesh)
        await _json_documents_have_one_shape(mesh)
        await _artifacts_are_saved(mesh, tmp_path / "saved")
        await _the_list_shows_tools_and_workers(mesh)

        started = processes_of(mesh.data_folder)
        assert len(started) >= 4, "two workers, the executor and the broker"
        assert await mesh.interrupt() == 0, "".join(mesh.progress)
        assert not alive(started)
        assert not (mesh.data_folder / "client.json").exists()
        assert "\x1b" not in "".join(mesh.progress)

        late = await mesh.toolmesh("call", "echo", "--args", '{"text": "x"}')
        assert (late.code, late.stdout) == (3, "")
        assert "toolmesh up" in late.stderr


async def _calls_end_as_documented(mesh: RunningMesh) -> None:
    done = await mesh.toolmesh("call", "echo", "--args", '{"text": "hello"}')
    assert done.code == 0, done.stderr + mesh.logs()
    assert done.stdout.startswith("you said hello\n")
    assert "echoing hello" in done.stderr
    assert "\x1b" not in done.stdout + done.stderr

    through_stdin = await mesh.toolmesh("call", "echo", "--args-file", "-", stdin=b'{"text": "piped"}')
    assert through_stdin.stdout.startswith("you said piped\n")

    renamed = await mesh.toolmesh("call", "repeat_after_me", "--agent", "parrot", "--args", '{"text": "hi"}')
    assert renamed.code == 0, renamed.stderr
    assert renamed.stdout.startswith("you said hi\n")

    for arguments, code, said in [
        (["fail", "--args", '{"reason": "it rains"}'], 1, "failed because it rains"),
        (["ecko"], 2, "echo"),
        (["echo", "--args", "{text}"], 2, "error [INVALID_ARGUMENTS]"),
        (["echo", "--args", "{}"], 2, "text"),
        (["echo", "--args", '{"text": "x"}', "--pool", "nowhere"], 2, "nowhere"),
        (["guarded", "--args", '{"text": "x"}', "--scope", "tool:other:use"], 4, "tool:guarded:use"),
        (
            ["repeat_after_me", "--agent", "parrot", "--scope", "tool:x:y", "--args", '{"text": "x"}'],
            4,
            "agent:parrot:invoke",
        ),
        (["brief", "--args", '{"seconds": 30}'], 5, "error [SANDBOX_TIMEOUT]"),
        (["sleep", "--args", '{"seconds": 15}', "--timeout", "1"], 5, "error ["),
    ]:
        ended = await mesh.toolmesh("call", *arguments)
        assert ended.code == code, (arguments, ended)
        assert said in ended.stderr, (arguments, ended)
        assert ended.stdout == ""

    allowed = await mesh.toolmesh("call", "guarded", "--args", '{"text": "x"}', "--scope", "tool:guarded:use")
    assert allowed.code == 0, allowed.stderr


async def _json_documents_have_one_shape(mesh: RunningMesh) -> None:
    keys = {"outcome", "message", "data", "error", "artifacts", "usage"}
    done = await mesh.toolmesh("call", "echo", "--json", "--args", '{"text": "ü"}')
    document = json.loads(done.stdout)
    assert document.keys() >= keys
    assert (document["outcome"], document["data"], document["error"]) == ("ok", {"text": "ü"}, None)
    assert document["usage"]["wall_ms"] > 0
    assert done.stdout.count("\n") == 1

    for tool, code, exit_code in [("fail", "TOOL_ERROR", 1), ("nothing_like_it", "TOOL_NOT_FOUND", 2)]:
        failed = await mesh.toolmesh("call", tool, "--json", "--args", '{"reason": "x"}')
        document = json.loads(failed.stdout)
        assert document.keys() >= keys
        assert (document["outcome"], document["error"]["code"], failed.code) == ("error", code, exit_code)


async def _artifacts_are_saved(mesh: RunningMesh, folder: Path) -> None:
    arguments = json.dumps({"name": "report.txt", "text": "all is well " * 20_000})
    options = ("--json", "--args-file", "-", "--save-artifacts", str(folder))
    done = await mesh.toolmesh("call", "write", *options, stdin=arguments.encode())
    assert done.code == 0, done.stderr
    (artifact,) = json.loads(done.stdout)["artifacts"]
    assert artifact["saved_as"] == str(folder / "report.txt")
    assert (folder / "report.txt").read_text() == "all is well " * 20_000
    await _a_result_outlives_a_full_disk(mesh, arguments, folder)


async def _a_result_outlives_a_full_disk(mesh: RunningMesh, arguments: str, folder: Path) -> None:
    """Here a limit on the size of files: what the tool said is shown although its file can't be saved."""
    command = f"ulimit -f 16; exec {sys.executable} -m toolmesh_cli call write --json --args-file -"
    process = await asyncio.create_subprocess_exec(
        *("bash", "-c", f"{command} --data {mesh.data_folder} --save-artifacts {folder}"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(30):
        stdout, stderr = await process.communicate(arguments.encode())
    document = json.loads(stdout)
    assert (document["outcome"], document["artifacts"][0]["saved_as"]) == ("ok", None)
    assert process.returncode == 1
    assert b"error [ARTIFACT_ERROR]: report.txt can't be saved in" in stderr
    assert _names_in(folder) == ["report.txt"]


def _names_in(folder: Path) -> list[str]:
    return [file.name for file in folder.iterdir()]


async def _the_list_shows_tools_and_workers(mesh: RunningMesh) -> None:
    listed = await mesh.toolmesh("tools", "list", "--json")
    document = json.loads(listed.stdout)
    assert [tool["name"] for tool in document["tools"]] == ["brief", "echo", "fail", "guarded", "sleep", "write"]
    assert all(tool["workers"] == ["worker-1", "worker-2"] for tool in document["tools"])
    assert document["problems"] == []

    table = (await mesh.toolmesh("tools", "list")).stdout.splitlines()
    assert table[0].split() == ["NAME", "POOL", "WORKERS", "VERSION", "DESCRIPTION"]
    assert any(row.split()[:3] == ["echo", "default", "2"] and row.endswith("Give back a text.") for row in table)


async def test_ctrl_c_withdraws_a_call_and_a_stopping_mesh_lets_calls_finish(tmp_path: Path) -> None:
    """The interrupted call ends as such; the other one gets its result although the mesh is told to stop."""
    async with running_mesh([_sample_tools(tmp_path)]) as mesh:
        data = ("--data", str(mesh.data_folder))
        withdrawn = await start_toolmesh("call", "sleep", "--args", '{"seconds": 18}', *data)
        await _running(withdrawn)
        withdrawn.send_signal(signal.SIGINT)
        async with asyncio.timeout(15):
            _, stderr = await withdrawn.communicate()
        assert withdrawn.returncode == 130, stderr.decode()
        assert b"error [CANCELLED]" in stderr

        finishing = await start_toolmesh("call", "sleep", "--args", '{"seconds": 3}', *data)
        await _running(finishing)
        mesh.process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(15):
            stdout, stderr = await finishing.communicate()
        assert (finishing.returncode, stdout) == (0, b"slept 3.0 s\n"), stderr.decode()
        async with asyncio.timeout(20):
            assert await mesh.process.wait() == 0


async def _running(call: asyncio.subprocess.Process) -> None:
    """Waits until the tool of a call has sent its status."""
    assert call.stderr is not None
    async with asyncio.timeout(15):
        while b"sleeping" not in (line := await call.stderr.readline()):
            assert line, "the call ended before it ran"


@pytest.mark.requirement("up:one-command")
async def test_a_killed_worker_and_a_killed_broker_come_back(tmp_path: Path) -> None:
    """The mesh says so and serves again, without anyone's help."""
    async with running_mesh([_sample_tools(tmp_path)]) as mesh:
        for fragment in ("worker-1.yaml", "nats-server.conf"):
            victims = [pid for pid, command in processes_of(mesh.data_folder).items() if fragment in command]
            assert victims, fragment
            os.kill(victims[-1], signal.SIGKILL)
            await eventually(lambda: any("starts again" in line for line in mesh.progress), "a warning", 20)
            mesh.progress.clear()
            async with asyncio.timeout(40):
                while (done := await mesh.toolmesh("call", "echo", "--args", '{"text": "again"}')).code != 0:
                    pass
            assert done.stdout.startswith("you said again\n")


@pytest.mark.requirement("up:no-orphans")
async def test_kill_9_leaves_no_orphan_and_the_folder_can_be_used_again(tmp_path: Path) -> None:
    """Every child and running tool dies with `toolmesh up`, and the next one starts where it was."""
    nap = f"nap_{uuid.uuid4().hex}"
    source = SLEEPING.replace("def sleep", f"def {nap}").replace("tool_cli(sleep)", f"tool_cli({nap})")
    tools = write_toolset(tmp_path / "naps", {"echo": (ECHO, {}), nap: (source, {})})
    folder = tmp_path / "data"
    async with running_mesh([tools], workers=2, data_folder=folder) as mesh:
        call = await start_toolmesh("call", nap, "--args", '{"seconds": 25}', data_folder=folder)
        await _running(call)
        started = processes_of(folder) | processes_with(f"/{nap}.py")
        assert any(f"/{nap}.py" in command for command in started.values())
        mesh.process.kill()
        await eventually(lambda: not alive(started), "the end of every child and of the tool", 15)
        call.kill()
        await call.communicate()

    for command in (["tools", "list"], ["dead", "list"]):
        left_over = await run_toolmesh(*command, data_folder=folder)
        assert left_over.code == 3
        assert "ended without cleaning up" in left_over.stderr

    async with running_mesh([tools], data_folder=folder) as mesh:
        second = await run_toolmesh("up", "--tools", str(tools), "--data", str(folder))
        assert second.code == 2
        assert "in use by process" in second.stderr
        assert (await mesh.toolmesh("call", "echo", "--args", '{"text": "x"}')).code == 0


@pytest.mark.requirement("tool:broken")
async def test_a_broken_tool_is_told_and_the_others_work(tmp_path: Path) -> None:
    """At the start and in the list; the mesh serves what it can."""
    tools = write_toolset(tmp_path / "mixed", {"echo": (ECHO, {}), "broken": ("import nothing_of_that_name\n", {})})
    async with running_mesh([tools]) as mesh:
        assert "1 tool in pool default" in mesh.ready_line
        await eventually(lambda: any("broken" in line for line in mesh.progress), "a warning that names the tool")
        listed = await mesh.toolmesh("tools", "list")
        assert "broken" not in listed.stdout, "a program reads tools there"
        assert "problem: " in listed.stderr
        assert "broken" in listed.stderr


async def test_files_go_with_a_call_as_with_a_single_run(tmp_path: Path) -> None:
    """`--artifact` of `call`, of a call as an agent, and of `tool run`: the same files, answers and exit codes."""
    tools = write_toolset(tmp_path / "files", {"read": (READING, {}), "echo": (ECHO, {})})
    (tmp_path / "big.bin").write_bytes(b"x" * 3_000_000)
    (tmp_path / "one.txt").write_text("1")
    odd = tmp_path / os.fsdecode(b"caf\xe9")
    odd.write_text("2")
    agents = tmp_path / "parrot.yaml"
    agents.write_text(_AGENT.replace("_str_binary: echo", "_str_binary: read"))
    given = [f"--artifact={name}={tmp_path / file}" for name, file in (("doc", "big.bin"), *[("more", "one.txt")] * 2)]
    async with running_mesh([tools], agents=[agents]) as mesh:
        one_run = ["tool", "run", str(tools), "--tool=read"]
        for command in (["call", "read"], ["call", "repeat_after_me", "--agent", "parrot"], one_run):
            done = await mesh.toolmesh(*command, *given)
            assert (done.code, done.stdout) == (0, "big.bin 3000000, one.txt 1, one.txt 1\n"), done
        for command in (["call", "read"], one_run):
            for wrong, said in [
                (f"doc={tmp_path}/nothing", "No such file"),
                (f"dco={tmp_path}/one.txt", "parameters that take files: doc, more"),
                ("doc", "has no `=`"),
                (os.fsdecode(b"doc=/caf\xe9.txt"), "/caf\\udce9.txt: No such file"),
            ]:
                refused = await mesh.toolmesh(*command, "--artifact", wrong, "--json")
                assert (refused.code, json.loads(refused.stdout)["error"]["code"]) == (2, "INVALID_ARGUMENTS"), refused
                assert said in refused.stderr
            done = await mesh.toolmesh(*command, f"--artifact=doc={odd}", given[1])
            assert (done.code, done.stdout) == (0, "caf\ufffd 1, one.txt 1\n"), done


async def test_a_saved_tool_is_told_where_up_runs(tmp_path: Path) -> None:
    """Broken or good, once for two workers; and a call of a tool that can't be loaded says why, as itself or an agent's."""
    tools = write_toolset(tmp_path / "mixed", {"echo": (ECHO, {}), "broken": ("import nothing_of_that_name\n", {})})
    agents = tmp_path / "parrot.yaml"
    agents.write_text(_AGENT.replace("_str_binary: echo", "_str_binary: broken"))
    program = tools / "echo" / "echo.py"
    async with running_mesh([tools], workers=2, agents=[agents]) as mesh:
        for arguments in (["broken"], ["repeat_after_me", "--agent", "parrot"]):
            why = await mesh.toolmesh("call", *arguments)
            assert why.code in {2, 3}
            assert "tool 'broken' of mixed/manifest.yaml could not be loaded: " in why.stderr
            assert "nothing_of_that_name" in why.stderr

        program.write_text("import gone_wrong\n")
        await eventually(lambda: _reloads(mesh, "echo not reloaded: ") > 0, "the mistake", 30)
        program.write_text(ECHO.replace("you said", "I heard"))
        await eventually(lambda: _reloads(mesh, "echo reloaded, version ") > 0, "the new version", 30)
        async with asyncio.timeout(30):
            while not (await mesh.toolmesh("call", "echo", "--args", '{"text": "x"}')).stdout.startswith("I heard x"):
                pass
        assert [_reloads(mesh, text) for text in ("echo not reloaded: ", "echo reloaded, ")] == [1, 1], mesh.progress


def _reloads(mesh: RunningMesh, text: str) -> int:
    return sum(line.startswith("reload ") and text in line for line in mesh.progress)


async def test_every_mistake_in_a_manifest_is_told_once(tmp_path: Path) -> None:
    """Before the start, and not again by each worker that reads the same file."""
    tools = write_toolset(tmp_path / "mixed", {"echo": (ECHO, {}), "wrong": (ECHO, {"timeout_seconds": "soon"})})
    async with running_mesh([tools], workers=2) as mesh:
        assert "1 tool in pool default" in mesh.ready_line
        assert sum("timeout_seconds" in line for line in mesh.progress) == 1, mesh.progress
        assert "timeout_seconds" in (await mesh.toolmesh("tools", "list")).stderr


async def test_a_second_ctrl_c_does_not_wait_for_calls(tmp_path: Path) -> None:
    """The first one drains, the second ends everything at once, which is no orderly end: exit code 130."""
    async with running_mesh([_sample_tools(tmp_path)]) as mesh:
        call = await start_toolmesh("call", "sleep", "--args", '{"seconds": 18}', data_folder=mesh.data_folder)
        await _running(call)
        started = processes_of(mesh.data_folder)
        mesh.process.send_signal(signal.SIGINT)
        await eventually(lambda: any(line.startswith("stopping") for line in mesh.progress), "the first is heard")
        mesh.process.send_signal(signal.SIGINT)
        async with asyncio.timeout(15):
            assert await mesh.process.wait() == 130
        assert not alive(started)
        assert any("ending everything at once" in line for line in mesh.progress)
        call.kill()
        await call.communicate()


async def test_a_broker_of_ones_own_can_be_used(tmp_path: Path) -> None:
    """`--broker URL`: provisioned, served, called, with a warning of what it doesn't keep apart; left running."""
    async with nats_server(tmp_path / "server") as server:
        options = ("--broker", server.url, "--namespace", "shared")
        async with running_mesh([_sample_tools(tmp_path)], options=options) as mesh:
            done = await mesh.toolmesh("call", "echo", "--args", '{"text": "x"}')
            assert done.code == 0, done.stderr
            assert any("warning: all parts of the mesh use one credential" in line for line in mesh.progress)
            assert await mesh.interrupt() == 0
        assert server.running


async def test_closing_the_terminal_lets_calls_finish(tmp_path: Path) -> None:
    """SIGHUP comes from the shell and from the kernel, and no line can be written any more: still an orderly end."""
    with disposition(signal.SIGHUP, signal.SIG_DFL):
        async with running_mesh([_sample_tools(tmp_path)]) as mesh:
            call = await start_toolmesh("call", "sleep", "--args", '{"seconds": 3}', data_folder=mesh.data_folder)
            await _running(call)
            mesh.hang_up()
            mesh.process.send_signal(signal.SIGHUP)
            mesh.process.send_signal(signal.SIGHUP)
            async with asyncio.timeout(20):
                stdout, stderr = await call.communicate()
                assert (call.returncode, stdout) == (0, b"slept 3.0 s\n"), stderr.decode()
                assert await mesh.process.wait() == 0
            assert not (mesh.data_folder / "client.json").exists()
