"""Embeds in an agent's answers: people and other agents read values, the model its own words."""

from pathlib import Path

import pytest
from tests.support.task_mesh import calls, says, task_mesh

from toolmesh_executor.loop.records import TaskCompleted, TextDelta, TurnStatus
from toolmesh_scripted_model import Question, Turn


def answers(asked: Question) -> Turn:
    """Counts with embeds; `ask` has the other agent do it."""
    if asked.results:
        return says(f"It said {asked.results[0]}.")
    if asked.user == "ask":
        return calls(("peer_counter", '{"text": "count"}'))
    return says("«status_update:I count»It is «math:6*7», in code\n```\n«math:6*7»\n```\n")


SHOWN = "It is 42, in code\n```\n«math:6*7»\n```\n"


@pytest.mark.requirement("embeds:answers")
async def test_an_answer_is_shown_with_values_and_remembered_as_it_was_written(tmp_path: Path) -> None:
    """Streamed text, the end and the status agree; a follow-up shows the model its own words."""
    async with task_mesh(tmp_path, {}, answers) as mesh, mesh.executor({"counter": {}}):
        task = await mesh.ask("counter", "count")
        state = await mesh.followed(task)
        assert state.ended == TaskCompleted(text=SHOWN)
        records = mesh.records(task)
        assert "".join(record.text for record in records if isinstance(record, TextDelta)) == SHOWN
        assert [record.text for record in records if isinstance(record, TurnStatus)] == ["I count"]
        assert "«math:19.5*3" in mesh.model.asked[0].system
        await mesh.answered("counter", "again", follows=task)
        assert "It is «math:6*7»" in str(mesh.model.asked[1].body)


async def test_another_agent_reads_the_values(tmp_path: Path) -> None:
    """Its call's result is what a person would have read."""
    async with task_mesh(tmp_path, {}, answers) as mesh, mesh.executor({"asker": {}, "counter": {}}):
        state = await mesh.answered("asker", "ask")
    assert state.ended == TaskCompleted(text=f"It said {SHOWN}.")


async def test_an_answer_full_of_embeds_stays_within_its_bounds(tmp_path: Path) -> None:
    """Those beyond stay as they are, and the task is answered."""
    async with task_mesh(tmp_path, {}, lambda _: says("«math:9**1200»" * 7000)) as mesh, mesh.executor({"counter": {}}):
        state = await mesh.answered("counter", "count")
    assert isinstance(state.ended, TaskCompleted)
    assert state.ended.text.startswith(str(9**1200))
    assert state.ended.text.endswith("«math:9**1200»")


async def test_an_agent_can_do_without(tmp_path: Path) -> None:
    """Then all of it is text, and the model is told nothing of embeds."""
    async with task_mesh(tmp_path, {}, answers) as mesh, mesh.executor({"counter": {"enable_embed_resolution": False}}):
        state = await mesh.answered("counter", "count")
        assert isinstance(state.ended, TaskCompleted)
        assert state.ended.text.startswith("«status_update:I count»It is «math:6*7»")
        assert "«math" not in mesh.model.asked[0].system
