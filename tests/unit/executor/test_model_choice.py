"""Which model a question goes to."""

import pytest

from toolmesh_executor.models.choice import AgentModels, ModelChoice
from toolmesh_executor.models.errors import ModelNotConfiguredError


@pytest.mark.requirement("models:choice")
def test_default_is_for_agents_that_name_none_and_for_calls_without_one() -> None:
    """An agent whose file is elsewhere may have a model of its own, so it gets no other one silently."""
    choice = ModelChoice({"plain": AgentModels(), "careful": AgentModels("a/large")}, "a/small")
    assert [choice.choose(agent, "") for agent in ("", "plain", "careful")] == ["a/small", "a/small", "a/large"]
    for wanted in ("", "a/small"):
        with pytest.raises(ModelNotConfiguredError, match="does not know the agent 'elsewhere'"):
            choice.choose("elsewhere", wanted)
