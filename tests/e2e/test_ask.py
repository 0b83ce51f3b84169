"""`toolmesh ask`: an agent answers through the tools that workers run for it."""

import json
from pathlib import Path

import pytest
from tests.support.answering_mesh import KEY, answering_mesh

pytestmark = pytest.mark.timeout(180)


@pytest.mark.requirement("loop:ask")
async def test_an_agent_answers_through_a_sandboxed_tool(tmp_path: Path) -> None:
    """The answer alone is on stdout, each step on stderr; `--json` has all of it in one document."""
    async with answering_mesh(tmp_path) as (mesh, server):
        done = await mesh.toolmesh("ask", "helper", 'echo {"text": "hi"}')
        document = await mesh.toolmesh("ask", "helper", "-", "--json", stdin=b'echo {"text": "hi"}')
        (system,) = {asked.system for asked in server.asked}
    assert done.code == 0, done.stderr
    assert done.stdout.startswith("the tool says: you said hi")
    assert "Let me see" not in done.stdout
    steps = done.stderr.splitlines()
    assert [line for line in steps if line.startswith("echo")] == steps
    assert 'echo  {"text": "hi"}' in steps
    assert "echo  echoing hi" in steps
    assert steps[-1] == "echo  ok"
    assert system.startswith("Help.\n\n")
    told = json.loads(document.stdout)
    assert (told["outcome"], told["turns"], told["usage"]) == (
        "ok",
        2,
        {"input_tokens": 22, "output_tokens": 14, "cost_dollars": None},
    )
    (call,) = told["tools"]
    assert (call["tool"], call["arguments"], call["outcome"]) == ("echo", {"text": "hi"}, "ok")
    assert call["invocation"]
    assert KEY not in done.stdout + done.stderr + document.stdout + document.stderr


async def test_failures_of_tools_are_content_and_of_the_task_an_exit_code(tmp_path: Path) -> None:
    """A tool that fails does not end the task; a limit does."""
    async with answering_mesh(tmp_path) as (mesh, _):
        failed = await mesh.toolmesh("ask", "helper", 'fail {"reason": "rain"}')
        unknown = await mesh.toolmesh("ask", "helper", "ech {}")
        late = await mesh.toolmesh("ask", "helper", 'sleep {"seconds": 30}', "--timeout", "3", "--json")
        for_ever = await mesh.toolmesh("ask", "helper", "echo {}", "--timeout", "inf")
        # As JSON it is twice as long.
        long = await mesh.toolmesh("ask", "helper", "-", stdin=b"\n" * 600_000 + b"x")
    assert failed.code == 0, failed.stderr
    assert "failed because rain" in failed.stdout
    assert "did you mean 'echo'?" in unknown.stdout
    assert (for_ever.code, "--timeout" in for_ever.stderr) == (2, True)
    assert "ask in parts" in long.stderr
    assert late.code == 5, late.stderr
    assert json.loads(late.stdout)["error"]["code"] == "DEADLINE_EXCEEDED"


@pytest.mark.requirement("loop:scopes")
async def test_a_tool_is_shown_only_to_callers_with_its_scopes(tmp_path: Path) -> None:
    """Even a model that calls it all the same does not reach it."""
    async with answering_mesh(tmp_path) as (mesh, server):
        may_not = await mesh.toolmesh(
            "ask", "helper", 'guarded {"text": "hi"}', "--user", "ann", "--scope", "agent:helper:invoke"
        )
        seen = server.asked[0].tools
        denied = await mesh.toolmesh("ask", "helper", "echo {}", "--user", "ann", "--scope", "agent:other:invoke")
        questions = len(server.asked)
    assert seen == ("echo", "fail", "sleep")
    assert "there is no tool 'guarded'" in may_not.stdout
    assert "you said" not in may_not.stdout
    assert denied.code == 4, denied.stderr
    assert "agent:helper:invoke" in denied.stderr
    assert questions == 2


async def test_what_can_not_be_asked_is_said_before_anything_runs(tmp_path: Path) -> None:
    """Agent, text and model, each with what to do."""
    async with answering_mesh(tmp_path) as (mesh, server):
        agent = await mesh.toolmesh("ask", "helpr", "why?")
        text = await mesh.toolmesh("ask", "helper", "  ")
        model = await mesh.toolmesh("ask", "plain", "why?")
        assert server.asked == []
    assert (agent.code, text.code, model.code) == (2, 2, 2)
    assert "did you mean 'helper'?" in agent.stderr
    assert "the text is empty" in text.stderr
    assert "TOOLMESH_MODEL" in model.stderr
