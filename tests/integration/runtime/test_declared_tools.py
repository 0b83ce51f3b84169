"""Declared tools through a broker and real workers: packages, scopes, files, and workspaces that last for a turn."""

import asyncio
import json
import os
import time
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from tests.support.agent_folder import agent_folder
from tests.support.running_mesh import run_toolmesh
from tests.support.worker_mesh import broker_and_client, worker_in_process

from toolmesh_client.errors import InvalidArgumentsError
from toolmesh_client.request import CallRequest
from toolmesh_client.result import CallResult
from toolmesh_contracts.errors import ErrorCode

EXAMPLE = Path(__file__).parents[3] / "examples" / "library_desk"
TURN_TOOLS = {
    "keep": 'read word; echo "$word" >> "$HOME/kept"; mkdir -p "$HOME/deep/er"; ln -sf ../kept "$HOME/deep/link"',
    "show": 'cat "$HOME/deep/link" 2>/dev/null || echo nothing',
    "leave": 'echo one > "$VESSEL_OUTBOX/one.txt"; mkdir "$VESSEL_OUTBOX/in"; echo two > "$VESSEL_OUTBOX/in/two.csv"',
}


@pytest.mark.requirement("declared:turn")
async def test_files_of_a_turn_are_found_by_its_later_calls(tmp_path: Path) -> None:
    """On the one worker that has them, though two serve the tool; another turn, caller or agent sees nothing."""
    agent = agent_folder(tmp_path / "agents" / "a", TURN_TOOLS)
    workers = ("worker-1", "worker-2")
    async with broker_and_client(tmp_path, workers=workers) as mesh, AsyncExitStack() as stack:
        for name in workers:
            await stack.enter_async_context(worker_in_process(mesh, [agent], worker_id=name))
        client = mesh.client
        kept = [await client.call("keep", {"n": number}, turn="t") for number in range(4)]
        shown = await client.call("show", turn="t")
        other_turn = await client.call("show", turn="u")
        no_turn = await client.call("show")
        bob = mesh.issuer.token("bob", ("*",), audience="test", agent="tester")
        other_caller = await client.run(CallRequest(tool="show", turn="t", token=bob))
        other_agent = mesh.issuer.token("ada", ("*",), audience="test", agent="another")
        agents_turn = await client.run(CallRequest(tool="show", turn="t", token=other_agent))

    assert {result.worker for result in (*kept, shown)} == {kept[0].worker}
    assert shown.message == "".join(f'{{"n": {number}}}\n' for number in range(4)), shown
    assert {one.message for one in (other_turn, no_turn, other_caller, agents_turn)} == {"nothing\n"}


@pytest.mark.requirement("declared:turn")
async def test_a_turn_goes_on_where_its_worker_has_died(tmp_path: Path) -> None:
    """The next worker restores the workspace from its stored copy: files, folders and links."""
    agent = agent_folder(tmp_path / "agents" / "a", TURN_TOOLS)
    async with broker_and_client(tmp_path, workers=("worker-1", "worker-2")) as mesh:
        async with worker_in_process(mesh, [agent], worker_id="worker-1"):
            first = await mesh.client.call("keep", {"n": 1}, turn="t")
        async with worker_in_process(mesh, [agent], worker_id="worker-2"):
            shown = await mesh.client.call("show", turn="t")
            await mesh.client.call("keep", {"n": 2}, turn="t")
            again = await mesh.client.call("show", turn="t")

    assert (first.worker, shown.worker) == ("worker-1", "worker-2")
    assert shown.message == '{"n": 1}\n'
    assert again.message == '{"n": 1}\n{"n": 2}\n'


@pytest.mark.requirement("declared:turn")
async def test_a_worker_with_an_old_state_restores_the_newer_one(tmp_path: Path) -> None:
    """A turn that wandered to another worker and back finds what the other one left, not what it left here."""
    agent = agent_folder(tmp_path / "agents" / "a", {**TURN_TOOLS, "hold": "sleep 1"})
    async with broker_and_client(tmp_path, workers=("worker-1", "worker-2")) as mesh:
        async with worker_in_process(mesh, [agent], worker_id="worker-1", concurrency=1):
            here = [await mesh.client.call("keep", {"n": 1}, turn=turn) for turn in ("t", "holding")]
            async with worker_in_process(mesh, [agent], worker_id="worker-2", concurrency=1):
                started = asyncio.Event()
                held = asyncio.create_task(mesh.client.call("hold", turn="holding", on_status=lambda _: started.set()))
                await started.wait()
                # Its worker has no free slot, so the call goes to the queue, and the other one takes it.
                moved = await mesh.client.call("keep", {"n": 2}, turn="t")
                here.append(await held)
            back = await mesh.client.call("show", turn="t")

    assert [result.worker for result in (*here, moved, back)] == ["worker-1"] * 3 + ["worker-2", "worker-1"]
    assert back.message == '{"n": 1}\n{"n": 2}\n'


@pytest.mark.requirement("declared:turn")
async def test_calls_of_a_turn_run_one_after_another(tmp_path: Path) -> None:
    """Calls that a model makes at once never overlap in their common workspace."""
    line = 'test -e "$HOME/busy" && echo overlap; touch "$HOME/busy"; sleep 0.1; rm "$HOME/busy"; echo fine'
    agent = agent_folder(tmp_path / "agents" / "a", {"alone": line})
    async with broker_and_client(tmp_path) as mesh, worker_in_process(mesh, [agent]):
        results = await asyncio.gather(*(mesh.client.call("alone", turn="t") for _ in range(5)))

    assert [result.message for result in results] == ["fine\n"] * 5


@pytest.mark.requirement("declared:outbox")
async def test_files_in_the_outbox_become_artifacts_of_their_call(tmp_path: Path) -> None:
    """By relative path, with a type; the turn's next call does not return them again."""
    agent = agent_folder(tmp_path / "agents" / "a", TURN_TOOLS)
    async with broker_and_client(tmp_path) as mesh, worker_in_process(mesh, [agent]):
        left = await mesh.client.call("leave", turn="t")
        again = await mesh.client.call("show", turn="t")
        content = b"".join([chunk async for chunk in mesh.client.open_artifact(left.artifacts[0])])

    assert [(ref.filename, ref.mime_type) for ref in left.artifacts] == [
        ("in/two.csv", "text/csv"),
        ("one.txt", "text/plain"),
    ]
    assert content == b"two\n"
    assert again.artifacts == ()


@pytest.mark.requirement("tool:outputs")
async def test_a_cut_file_of_a_failed_command_is_not_kept(tmp_path: Path) -> None:
    """The note names the limit."""
    line = 'head -c 100M /dev/zero > "$VESSEL_OUTBOX/cut"'
    agent = agent_folder(tmp_path / "agents" / "a", {"fill": line})
    async with broker_and_client(tmp_path) as mesh, worker_in_process(mesh, [agent]):
        filled = await mesh.client.call("fill")
    assert filled.error is not None
    assert filled.artifacts == ()
    assert "'cut' was refused: it was cut at 64 MiB" in filled.notes[0]


@pytest.mark.requirement("declared:outbox")
async def test_a_hostile_outbox_is_refused_entry_by_entry(tmp_path: Path) -> None:
    """Links, FIFOs, too deep and too many; what is sound is kept, and what was refused is said."""
    line = (
        'cd "$VESSEL_OUTBOX"; ln -s /etc/passwd link; mkfifo fifo; mkdir -p a/b/c/d/e; echo x > a/b/c/d/ok; '
        "echo x > a/b/c/d/e/deep; echo x > fine"
    )
    flood = 'cd "$VESSEL_OUTBOX"; for n in $(seq 150); do echo x > $n; done; rm -rf "$VESSEL_OUTBOX"'
    agent = agent_folder(tmp_path / "agents" / "a", {"hostile": line, "flood": flood.replace("; rm -rf", " # rm")})
    async with broker_and_client(tmp_path) as mesh, worker_in_process(mesh, [agent]):
        hostile = await mesh.client.call("hostile")
        many = await mesh.client.call("flood")

    assert [ref.filename for ref in hostile.artifacts] == ["a/b/c/d/ok", "fine"]
    notes = "\n".join(hostile.notes)
    assert all(name in notes for name in ("'link'", "'fifo'", "'a/b/c/d/e'")), notes
    assert len(many.artifacts) == 100
    assert "more than 100 files" in "\n".join(many.notes)


@pytest.mark.requirement("declared:status")
async def test_a_tool_cannot_fake_how_it_ended(tmp_path: Path) -> None:
    """Whatever it prints, the status beside the text is the worker's."""
    faking = 'echo "[timed out after 30 s]"; echo \'{"exit_code": 0}\'; exit 9'
    agent = agent_folder(tmp_path / "agents" / "a", {"faking": faking})
    async with broker_and_client(tmp_path) as mesh, worker_in_process(mesh, [agent]):
        result = await mesh.client.call("faking")

    assert not result.ok
    assert result.data == {"exit_code": 9, "timed_out": False, "truncated": False, "dropped_characters": 0}
    assert result.text() == '[timed out after 30 s]\n{"exit_code": 0}\n\nTOOL_ERROR: the command ended with exit code 9'


@pytest.mark.requirement("declared:scope")
async def test_the_scope_of_a_tool_is_needed_as_it_is_written(tmp_path: Path) -> None:
    """One opaque text: the default, an own one, a glob of it; never taken apart."""
    agent = agent_folder(
        tmp_path / "agents" / "a", {"plain": "echo ran", "own": "echo ran"}, more={"own": 'scope = "birds"'}
    )
    async with broker_and_client(tmp_path, scopes=("tools:read",)) as mesh, worker_in_process(mesh, [agent]):

        async def call(tool: str, *scopes: str) -> CallResult:
            token = mesh.issuer.token("ada", scopes, audience="test", agent="tester")
            return await mesh.client.run(CallRequest(tool=tool, token=token))

        allowed = [await call("plain", "tools:read"), await call("plain", "tools:*"), await call("own", "bir*")]
        denied = [await call("plain", "tools"), await call("own", "tools:read"), await call("own")]

    assert [result.message for result in allowed] == ["ran\n"] * 3
    assert [result.error and result.error.code for result in denied] == [ErrorCode.PERMISSION_DENIED] * 3


@pytest.mark.requirement("declared:package")
async def test_a_changed_folder_is_another_package(tmp_path: Path) -> None:
    """A call runs what it names: the script of the version that its caller saw."""
    agent = agent_folder(tmp_path / "agents" / "a", {"say": "sh /agent/say.sh"}, scripts={"say.sh": "echo one\n"})
    async with broker_and_client(tmp_path) as mesh, worker_in_process(mesh, [agent], reconcile_seconds=1):
        before = mesh.client.tools()["default"]["say"].version
        first = await mesh.client.call("say")
        (agent / "say.sh").write_text("echo two\n")
        deadline = time.monotonic() + 20
        while mesh.client.tools()["default"]["say"].version == before:
            assert time.monotonic() < deadline
            await asyncio.sleep(0.05)
        second = await mesh.client.call("say")

    assert (first.message, second.message) == ("one\n", "two\n")


@pytest.mark.requirement("declared:mounts")
async def test_mounts_are_shown_read_only_and_commands_start_in_the_workdir(tmp_path: Path) -> None:
    """Folders beside and inside the agent folder; nothing but the workspace and the outbox can be written."""
    writing = 'for d in /data /more /agent / /tmp /usr "$HOME" "$VESSEL_OUTBOX"; do touch "$d/x" 2>/dev/null && echo "$d"; done'
    agent = agent_folder(
        tmp_path / "agents" / "a",
        {"where": "pwd; cat here; cat /more/there", "write": writing},
        vessel='workdir = "/data/in"\n[[sandbox.mounts]]\nsource = "../data"\ntarget = "/data"\n'
        '[[sandbox.mounts]]\nsource = "more"\ntarget = "/more"\n',
        scripts={"more/there": "there\n", "../data/in/here": "here\n"},
    )
    async with broker_and_client(tmp_path) as mesh, worker_in_process(mesh, [agent]):
        where = await mesh.client.call("where")
        written = await mesh.client.call("write")

    assert where.message == "/data/in\nhere\nthere\n"
    assert written.message == "/work\n/outbox\n"


@pytest.mark.requirement("declared:refusals")
async def test_refused_arguments_start_nothing(tmp_path: Path) -> None:
    """By the client, or where only the worker looks that closely, by the worker; `required` is the tool's own affair."""
    flags = 'input = "args"\n[parameters]\ntype = "object"\nrequired = ["a"]\n[parameters.properties.a]\n'
    agent = agent_folder(tmp_path / "agents" / "a", {"strict": "echo RAN"}, more={"strict": flags})
    async with broker_and_client(tmp_path) as mesh, worker_in_process(mesh, [agent]):
        with pytest.raises(InvalidArgumentsError, match="no JSON object"):
            await mesh.client.call("strict", b"[1]")
        unknown = await mesh.client.call("strict", b'{"b":1}')
        twice = await mesh.client.call("strict", b'{"a":1,"a":2}')
        none = await mesh.client.call("strict", b"{}")

    for refused in (unknown, twice):
        assert refused.error is not None
        assert refused.error.code is ErrorCode.INVALID_ARGUMENTS
        assert "call the tool again with valid JSON" in refused.text()
        assert refused.usage is None
    assert none.message == "RAN\n"


@pytest.mark.requirement("declared:confined")
async def test_the_command_runs_as_nobody_else(tmp_path: Path) -> None:
    """A root worker gives each call a user id of its own; any other is itself."""
    agent = agent_folder(tmp_path / "agents" / "a", {"wait": "sleep 1234.5"})
    async with broker_and_client(tmp_path) as mesh, worker_in_process(mesh, [agent]):
        calls = [asyncio.create_task(mesh.client.call("wait", timeout_s=4)) for _ in range(2)]
        deadline = time.monotonic() + 10
        while len(owners := _owners(b"sleep\x001234.5\x00")) < 2:
            assert time.monotonic() < deadline
            await asyncio.sleep(0.05)
        results = await asyncio.gather(*calls)

    assert [result.error and result.error.code for result in results] == [ErrorCode.DEADLINE_EXCEEDED] * 2
    assert _owners(b"sleep\x001234.5\x00") == []
    if os.getuid() == 0:
        assert len(set(owners)) == 2
        assert all(61_184 <= owner < 65_534 for owner in owners)
    else:
        assert set(owners) == {os.getuid()}


async def test_the_example_folder_works(tmp_path: Path) -> None:
    """Books by a word, and a reading list that grows within a turn and comes back as a file."""
    async with broker_and_client(tmp_path) as mesh, worker_in_process(mesh, [EXAMPLE]):
        found = await mesh.client.call("find_books", {"word": "otter"})
        first = await mesh.client.call("reading_list", {"title": "The Water Rats"}, turn="t")
        second = await mesh.client.call("reading_list", {"title": "Bread in Nine Ways"}, turn="t")
        listed = b"".join([chunk async for chunk in mesh.client.open_artifact(second.artifacts[0])])

    assert [book["shelf"] for book in json.loads(found.message)] == ["nature"]
    assert first.message == "1 on the list: The Water Rats\n"
    assert second.message == "2 on the list: The Water Rats, Bread in Nine Ways\n"
    assert listed == b"The Water Rats\nBread in Nine Ways\n"


@pytest.mark.requirement("declared:alone")
async def test_a_declared_tool_runs_without_a_server(tmp_path: Path) -> None:
    """`tool run` gives it the sandbox that a worker would; what is wrong with others is told."""
    agent = agent_folder(tmp_path / "a", {"fine": 'echo "$VESSEL_OUTBOX"', "bad": "true"}, more={"bad": "x = 1"})
    ran = await run_toolmesh("tool", "run", str(agent), "--json")
    checked = await run_toolmesh("tool", "validate", str(agent))

    assert json.loads(ran.stdout)["message"] == "/outbox\n"
    assert "bad.toml" in ran.stderr
    assert (checked.code, "usable tools: fine" in checked.stdout) == (2, True), checked


def _owners(command: bytes) -> list[int]:
    owners = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                if (process / "cmdline").read_bytes() == command:
                    owners.append(process.stat().st_uid)
            except OSError:
                continue
    return owners
