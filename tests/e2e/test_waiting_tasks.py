"""Tasks that wait for a person, over the command line: asked, listed, answered, taken back, resumed."""

import json
from pathlib import Path

import pytest
from tests.support.answering_mesh import answering_mesh

from toolmesh_contracts.ids import new_uuid7

pytestmark = pytest.mark.timeout(180)


@pytest.mark.requirement("task:approval")
async def test_a_task_that_needs_approval_is_asked_answered_and_shown(tmp_path: Path) -> None:
    """`ask` ends with 6 and says how to answer; `answer` has it go on; `tasks` tells of it all the time."""
    async with answering_mesh(tmp_path, approved=("echo",)) as (mesh, _):
        asked = await mesh.toolmesh("ask", "helper", 'echo {"text": "hi"}', "--json")
        document = json.loads(asked.stdout)
        task = document["task"]
        listed = await mesh.toolmesh("tasks", "list")
        unsaid = await mesh.toolmesh("answer", task)
        stranger = await mesh.toolmesh("answer", task, "--yes", "--user", "eve", "--scope", "agent:helper:invoke")
        still = await mesh.toolmesh("tasks", "show", task)
        agreed = await mesh.toolmesh("answer", task, "--yes")
        again = await mesh.toolmesh("answer", task, "--no", "too late")
        shown = await mesh.toolmesh("tasks", "show", task)
        events = await mesh.toolmesh("tasks", "show", task, "--json")
    assert (asked.code, document["outcome"]) == (6, "pending")
    assert f"toolmesh answer {task} --call 1.1 --yes" in asked.stderr
    (question,) = document["questions"]
    assert (question["tool"], question["text"], question["arguments"]) == ("echo", "Say hi?", {"text": "hi"})
    assert task in listed.stdout
    assert "asks" in listed.stdout
    assert (unsaid.code, "give --yes or --no" in unsaid.stderr) == (2, True)
    assert (stranger.code, "'developer'" in stranger.stderr) == (4, True)
    assert "state  asks" in still.stdout
    assert agreed.stdout.startswith("answered echo")
    assert again.code == 2, again.stderr
    assert "echo  answered by developer: yes" in shown.stdout
    assert "the tool says: you said hi" in shown.stdout
    assert "state  completed" in shown.stdout
    numbers = [json.loads(line)["number"] for line in events.stdout.splitlines()]
    assert numbers == list(range(1, len(numbers) + 1))


@pytest.mark.requirement("loop:chat")
async def test_a_conversation_asks_in_place_and_can_be_gone_on_with(tmp_path: Path) -> None:
    """The next line is the answer to a question; `/task` names what `--resume` goes on with."""
    async with answering_mesh(tmp_path, approved=("echo",)) as (mesh, server):
        lines = b'echo {"text": "hi"}\nperhaps\nno not today\necho {"text": "ho"}\nyes\n/task\n'
        first = await mesh.toolmesh("chat", "helper", stdin=lines)
        task = first.stderr.split()[-1]
        second = await mesh.toolmesh("chat", "helper", "--resume", task, stdin=b"fail {}\n")
        none = await mesh.toolmesh("chat", "helper", "--resume", new_uuid7(), stdin=b"fail {}\n")
        said = [one["content"] for one in server.asked[-1].body["messages"] if one["role"] == "user"]
    assert first.code == 0, first.stderr
    assert "yes or no, please" in first.stderr
    refused, agreed = first.stdout.splitlines()[:2]
    assert "did not agree to this call: not today" in refused
    assert "you said ho" in agreed
    assert second.code == 0, second.stderr
    assert (none.code, "there is no task" in none.stderr) == (2, True)
    assert said == ['echo {"text": "hi"}', 'echo {"text": "ho"}', "fail {}"]


@pytest.mark.requirement("task:cancel")
async def test_a_waiting_task_is_taken_back(tmp_path: Path) -> None:
    """Then nobody can answer any more, and the list says so."""
    async with answering_mesh(tmp_path, approved=("echo",)) as (mesh, _):
        task = json.loads((await mesh.toolmesh("ask", "helper", "echo {}", "--json")).stdout)["task"]
        cancelled = await mesh.toolmesh("tasks", "cancel", task, "--reason", "asked twice")
        twice = await mesh.toolmesh("tasks", "cancel", task)
        misspelt = await mesh.toolmesh("tasks", "cancel", "nope")
        unbegun = await mesh.toolmesh("tasks", "cancel", new_uuid7())
        answered = await mesh.toolmesh("answer", task, "--yes")
        shown = await mesh.toolmesh("tasks", "show", task)
        unknown = await mesh.toolmesh("tasks", "show", "0190a0b0-0000-7000-8000-000000000000")
    assert cancelled.code == 0, cancelled.stderr
    assert (twice.code, answered.code, unknown.code) == (2, 2, 2)
    assert "the task was cancelled: asked twice" in shown.stderr
    assert "there is no task" in unknown.stderr
    assert (misspelt.code, "there is no task 'nope'" in misspelt.stderr) == (2, True)
    assert (unbegun.code, "no executor had begun it" in unbegun.stderr) == (0, True)
