"""Agent files that change while they are in use: the new ones are read, a broken one stays as it was."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from pathlib import Path

from tests.support.agent_folder import agent_folder
from tests.support.scripted_worker import Job
from tests.support.tool_client import NAMESPACE, memory_mesh, until

from toolmesh_contracts.envelopes.reply import Outcome, Result
from toolmesh_contracts.errors import ErrorCode
from toolmesh_executor.agent_files import AgentFiles
from toolmesh_executor.agent_reload import AgentReload
from toolmesh_executor.dispatch import Dispatcher, TokenVerifier
from toolmesh_executor.problems import ProblemBoard
from toolmesh_executor.running_agents import ReadAgents, RunningAgents, read_agents
from toolmesh_identity.development import ISSUER_NAME, DevelopmentIssuer

AGENT = "agent_name: {name}\ntools: [{{tool_type: builtin, tool_name: {tool}}}]\n"


def tools_of(files: AgentFiles) -> dict[str, list[str]]:
    return {name: list(agent.tools) for name, agent in read_agents(files.load()).tools.items()}


@contextlib.asynccontextmanager
async def following(*places: Path) -> AsyncIterator[list[ReadAgents]]:
    """All readings of changed files so far."""
    files = AgentFiles(places, NAMESPACE, {})
    reload = AgentReload(files)
    files.load()
    readings: list[ReadAgents] = []
    task = asyncio.create_task(reload.follow(readings.append))
    try:
        yield readings
    finally:
        task.cancel()
        await asyncio.wait({task})


def test_a_broken_file_keeps_its_last_good_agents(tmp_path: Path) -> None:
    """It is a problem with file and line until it is mended; other files change all the same."""
    one, two = tmp_path / "one.yaml", tmp_path / "two.yaml"
    one.write_text(AGENT.format(name="one", tool="a"))
    two.write_text(AGENT.format(name="two", tool="b"))
    files = AgentFiles([tmp_path], NAMESPACE, {})
    assert tools_of(files) == {"one": ["a"], "two": ["b"]}
    one.write_text("agent_name: one\ninstructon: x\n")
    two.write_text(AGENT.format(name="two", tool="c"))
    assert tools_of(files) == {"one": ["a"], "two": ["c"]}
    (problem,) = files.load().problems
    assert problem.place == f"{one}:2"
    assert "did you mean 'instruction'?" in str(problem)
    assert "stay as they were" in str(problem)
    one.write_text(AGENT.format(name="one", tool="d"))
    assert tools_of(files) == {"one": ["d"], "two": ["c"]}
    assert files.load().problems == ()


def test_a_file_with_one_broken_agent_stays_as_a_whole(tmp_path: Path) -> None:
    """Its agents belong together: half of a change is none."""
    file = tmp_path / "two.yaml"
    file.write_text("agents: [{name: a}, {name: b}]")
    files = AgentFiles([file], NAMESPACE, {})
    assert sorted(files.load().agents) == ["a", "b"]
    file.write_text("agents: [{name: c}, {name: b, instructon: x}]")
    loaded = files.load()
    assert sorted(loaded.agents) == ["a", "b"]
    assert "stay as they were" in str(loaded.problems[0])


def test_removed_files_and_agents_vanish(tmp_path: Path) -> None:
    """One that comes again broken has nothing to fall back on."""
    one, two = tmp_path / "one.yaml", tmp_path / "two.yaml"
    one.write_text("agents: [{name: a}, {name: b}]")
    two.write_text("agent_name: c")
    files = AgentFiles([tmp_path, two], NAMESPACE, {})
    assert sorted(files.load().agents) == ["a", "b", "c"]
    one.write_text("agents: [{name: b}]")
    two.unlink()
    assert sorted(files.load().agents) == ["b"]
    two.write_text("agent_name: [")
    loaded = files.load()
    assert sorted(loaded.agents) == ["b"]
    assert "stay as they were" not in str(loaded.problems[0])


async def test_each_kind_of_change_is_noticed(tmp_path: Path) -> None:
    """New, changed, replaced and removed files, and an agent folder's parts."""
    folder = agent_folder(tmp_path / "guide", {"one": "true"})
    (tmp_path / "more").mkdir()
    file = tmp_path / "more" / "a.yaml"
    file.write_text("agent_name: a")
    async with following(tmp_path / "more", folder) as readings:

        async def read_after(number: int) -> ReadAgents:
            await until(lambda: len(readings) == number, "the next reading")
            return readings[-1]

        (tmp_path / "more" / "b.yaml").write_text("agent_name: b")
        assert sorted((await read_after(1)).tools) == ["a", "b", "guide"]

        before = file.stat()
        other = tmp_path / "other"
        other.write_text("agent_name: z")
        os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
        other.replace(file)
        assert sorted((await read_after(2)).tools) == ["b", "guide", "z"]

        (tmp_path / "more" / "b.yaml").unlink()
        assert sorted((await read_after(3)).tools) == ["guide", "z"]

        (folder / "prompt.md").write_text("Be kind.")
        assert (await read_after(4)).configs["guide"].instruction == "Be kind."


def test_a_change_is_read_once_it_is_quiet_and_new(tmp_path: Path) -> None:
    """A file under change waits, one that was only touched is not read again."""
    file = tmp_path / "a.yaml"
    file.write_text("agent_name: a")
    files = AgentFiles([file], NAMESPACE, {})
    reload = AgentReload(files)
    assert reload.look() is None
    os.utime(file, (1, 1))
    assert [reload.look(), reload.look()] == [None, None]
    file.write_text("agent_name: [")
    assert reload.look() is None
    file.write_text("agent_name: b, not yet")
    assert reload.look() is None
    file.write_text("agent_name: b")
    assert reload.look() is None
    read = reload.look()
    assert read is not None
    assert sorted(read.tools) == ["b"]
    assert read.problems == ()
    assert reload.look() is None


async def test_a_running_call_goes_on_and_the_next_one_sees_the_new_agents(tmp_path: Path) -> None:
    """Even when its agent is gone by then; what lacks is told until it is mended."""
    file = tmp_path / "agent.yaml"
    file.write_text(AGENT.format(name="one", tool="wait"))
    files = AgentFiles([file], NAMESPACE, {})
    running = RunningAgents(read_agents(files.load()))
    begun, go = asyncio.Event(), asyncio.Event()

    async def wait(job: Job) -> Result:
        begun.set()
        await go.wait()
        return job.ok(job.arguments)

    async with memory_mesh(tmp_path, {"wait": wait}) as (_, client, _):
        issuer = DevelopmentIssuer(tmp_path / "keys")
        verifier = TokenVerifier(keys=issuer.issuer_public_keys(), namespace=NAMESPACE, issuer=ISSUER_NAME)
        ended: list[tuple[str, str, Outcome]] = []
        dispatcher = Dispatcher(running.tools, client, verifier, lambda *call: ended.append(call))
        board = ProblemBoard(running, client)
        token = issuer.token("ada", ("*",), audience=NAMESPACE)
        assert list(board.problems) == []

        first = asyncio.create_task(dispatcher.dispatch("one", "wait", b"{}", token))
        await begun.wait()
        file.write_text(AGENT.format(name="two", tool="wait"))
        running.replace(read_agents(files.load()))
        go.set()
        second = await dispatcher.dispatch("one", "wait", b"{}", token)
        third = await dispatcher.dispatch("two", "wait", b"{}", token)
        assert ((await first).outcome, third.outcome) == (Outcome.OK, Outcome.OK)
        assert second.error is not None
        assert second.error.code is ErrorCode.TOOL_NOT_FOUND
        assert sorted(ended) == [("one", "wait", Outcome.OK), ("two", "wait", Outcome.OK)]

        file.write_text("agent_name: [")
        running.replace(read_agents(files.load()))
        (problem,) = board.problems
        assert problem.source.startswith(f"{file}:")
        assert (await dispatcher.dispatch("two", "wait", b"{}", token)).outcome is Outcome.OK
        file.write_text(AGENT.format(name="two", tool="wait"))
        running.replace(read_agents(files.load()))
        assert list(board.problems) == []
