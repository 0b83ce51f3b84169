"""Agents whose requests and answers have a schema, and what turns cost."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.support.health_pages import fetch
from tests.support.task_mesh import says, task_mesh

from toolmesh_contracts.errors import ErrorCode
from toolmesh_executor.json_schema import compiled
from toolmesh_executor.loop.records import AnswerRefused, TaskCompleted, TaskFailed
from toolmesh_executor.loop.task_state import TaskState
from toolmesh_scripted_model import Question, Turn

pytestmark = pytest.mark.timeout(90)

FORECAST: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "degrees": {"type": "integer"}},
    "required": ["city", "degrees"],
    "additionalProperties": False,
}


def data_of(state: TaskState) -> object:
    assert isinstance(state.ended, TaskCompleted), state.ended
    assert not isinstance(state.ended.data, msgspec.UnsetType)
    return json.loads(bytes(state.ended.data))


@pytest.mark.requirement("loop:structured")
async def test_an_answer_that_does_not_fit_is_asked_for_again_with_the_violations(tmp_path: Path) -> None:
    """The model is told the schema, then what is wrong and where; a fence around the JSON is no fault."""
    answers = ["It is warm.", '{"city": "Oslo", "degrees": "warm"}', '```json\n{"city": "Oslo", "degrees": 22}\n```']

    def model(asked: Question) -> Turn:
        return says(answers[sum(one["role"] == "assistant" for one in asked.body["messages"])])

    async with task_mesh(tmp_path, {}, model) as mesh, mesh.executor({"helper": {"output_schema": FORECAST}}):
        task = await mesh.ask("helper", "Oslo?")
        assert data_of(await mesh.followed(task)) == {"city": "Oslo", "degrees": 22}
        problems = [record.problem for record in mesh.records(task) if isinstance(record, AnswerRefused)]
        assert ["no JSON" in problems[0], "degrees: " in problems[1], len(problems)] == [True, True, 2]
        assert json.dumps(FORECAST, sort_keys=True) in mesh.model.asked[0].system
        assert "degrees: " in mesh.model.asked[2].user


@pytest.mark.requirement("loop:structured")
async def test_a_model_that_never_fits_ends_the_task_with_the_reason(tmp_path: Path) -> None:
    """Three answers, no more."""
    async with (
        task_mesh(tmp_path, {}, lambda asked: says("no")) as mesh,
        mesh.executor({"helper": {"output_schema": FORECAST}}),
    ):
        state = await mesh.answered("helper", "Oslo?")
        assert isinstance(state.ended, TaskFailed)
        assert (state.ended.code, "in 3 tries" in state.ended.message) == (ErrorCode.MODEL_FAILED, True)
        assert len(mesh.model.asked) == 3


@pytest.mark.requirement("loop:structured")
async def test_a_request_that_does_not_fit_is_refused_before_any_model_is_asked(tmp_path: Path) -> None:
    """With path and violation; one that fits goes on. A schema that is none fails the task with its key."""
    agents = {"helper": {"input_schema": FORECAST}, "broken": {"output_schema": {"type": "objekt"}}}
    async with task_mesh(tmp_path, {}) as mesh, mesh.executor(agents):
        refused = (await mesh.answered("helper", '{"city": 1, "degrees": 2}')).ended
        broken = (await mesh.answered("broken", "hi")).ended
        assert mesh.model.asked == []
        assert isinstance((await mesh.answered("helper", '{"city": "Oslo", "degrees": 2}')).ended, TaskCompleted)
    assert isinstance(refused, TaskFailed)
    assert (refused.code, "city: " in refused.message) == (ErrorCode.INVALID_ARGUMENTS, True)
    assert isinstance(broken, TaskFailed)
    assert (broken.code, "output_schema" in broken.message) == (ErrorCode.INVALID_CONFIGURATION, True)


def test_a_schema_can_not_reach_outside_of_itself() -> None:
    """No reference is fetched, from a file or over the network."""
    for place in ("http://127.0.0.1:9/x", "file:///etc/passwd"):
        with pytest.raises(Exception, match=r"output_schema.*can be used"):
            compiled({"$ref": place}, "output_schema")


@pytest.mark.requirement("loop:usage")
async def test_turns_are_counted_and_an_unknown_price_is_not_zero(tmp_path: Path) -> None:
    """Tokens by agent and model in the metrics and in the events; a model behind an own address has no price."""
    async with task_mesh(tmp_path, {}) as mesh, mesh.executor({"helper": {}}) as executor:
        state = await mesh.answered("helper", "hi")
        _, page = await fetch(executor.health_port, "/metrics")
    (turn,) = state.turns
    assert (turn.answer.input_tokens, turn.answer.output_tokens, turn.answer.cost_microdollars) == (11, 7, None)
    assert 'toolmesh_executor_turn_tokens_total{agent="helper",direction="in",model="openai/small"} 11.0' in page
    assert "toolmesh_executor_turn_cost_dollars_total{" not in page
