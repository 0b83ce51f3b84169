"""An agent's file is edited while the mesh runs: its tools, its faults, and whether embeds are replaced."""

import json
from pathlib import Path

import pytest
from tests.support.answering_mesh import answering_mesh
from tests.support.brokers import eventually
from tests.support.health_pages import fetch
from tests.support.running_mesh import Finished, RunningMesh

pytestmark = pytest.mark.timeout(240)


def executor_lines(mesh: RunningMesh) -> list[dict[str, object]]:
    """What the executor has logged so far."""
    (log,) = (mesh.data_folder / "logs").glob("*executor*.log")
    return [json.loads(line) for line in log.read_text().splitlines()]


async def logged(mesh: RunningMesh, event: str, times: int = 1) -> None:
    """Wait until the executor has logged an event so often."""
    await eventually(lambda: sum(line["event"] == event for line in executor_lines(mesh)) >= times, 20)


@pytest.mark.requirement("agents:reload")
async def test_agents_follow_their_file(tmp_path: Path) -> None:
    """The next task sees the new tools, or the last good ones; doctor and health tell of a fault until it is mended."""
    async with answering_mesh(tmp_path) as (mesh, server):
        file = tmp_path / "agents.yaml"
        first = file.read_text()

        async def ask(agent: str = "helper") -> Finished:
            return await mesh.toolmesh("ask", agent, 'echo {"text": "hi"}')

        def shown() -> list[str]:
            return [name for name in server.asked[-1].tools if not name.startswith("peer_")]

        async def ready() -> str:
            port = next(line["health_port"] for line in executor_lines(mesh) if line["event"] == "ready")
            assert isinstance(port, int)
            return (await fetch(port, "/ready"))[1]

        assert "you said hi" in (await ask()).stdout
        assert shown() == ["echo", "fail", "sleep", "guarded"]
        file.write_text(first.replace("      - {tool_type: builtin, tool_name: fail}\n", ""))
        await logged(mesh, "agents read again")
        assert "you said hi" in (await ask()).stdout
        assert shown() == ["echo", "sleep", "guarded"]

        file.write_text("instructon: x\n" + first)
        await logged(mesh, "tool left out")
        assert "you said hi" in (await ask()).stdout
        assert shown() == ["echo", "sleep", "guarded"]
        assert f"{file}:1" in await ready()

        async def told() -> bool:
            return f"{file}:1: instructon: unknown key" in (await mesh.toolmesh("doctor")).stdout

        await eventually(told, 40)

        file.write_text(first.replace("name: helper", "name: friend"))
        await logged(mesh, "problem mended")
        assert str(file) not in await ready()

        async def answers() -> bool:
            return "you said hi" in (await ask("friend")).stdout

        await eventually(answers, 40)
        assert shown() == ["echo", "fail", "sleep", "guarded"]
        gone = await ask()
        assert gone.code == 2, gone.stderr


@pytest.mark.requirement("embeds:arguments")
async def test_embeds_in_arguments_are_replaced_unless_the_file_says_no(tmp_path: Path) -> None:
    """What the tool answers is shown to the model as it is."""
    async with answering_mesh(tmp_path) as (mesh, _):
        file = tmp_path / "agents.yaml"
        on = await mesh.toolmesh("ask", "helper", 'echo {"text": "«math:6*7» «artifact_content:a.md»"}')
        file.write_text(file.read_text().replace("instruction: Help.", "enable_embed_resolution: false"))
        await logged(mesh, "agents read again")
        off = await mesh.toolmesh("ask", "helper", 'echo {"text": "«math:6*7»"}')
    assert "you said 42 «artifact_content:a.md»" in on.stdout
    assert "you said «math:6*7»" in off.stdout
