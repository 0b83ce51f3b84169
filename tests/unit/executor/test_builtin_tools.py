"""Tools that the executor runs itself: what they answer, and what the registry makes of entries that name them."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.unit.executor.test_agent_registry import registry_of

from toolmesh_contracts.envelopes.reply import Outcome
from toolmesh_contracts.errors import ErrorCode
from toolmesh_executor.builtins.shipped import SHIPPED_TOOLS


def time_of(**arguments: Any) -> dict[str, Any]:
    outcome = SHIPPED_TOOLS["get_current_time"].call(json.dumps(arguments).encode())
    assert outcome.outcome is Outcome.OK
    result: dict[str, Any] = json.loads(outcome.content)
    return result


def test_the_time_is_told_in_utc_and_elsewhere() -> None:
    """Every field is of one moment."""
    before = datetime.now(UTC)
    told = time_of()
    now = datetime.fromisoformat(told["current_time"])
    assert before <= now <= datetime.now(UTC)
    assert told == {
        "status": "success",
        "current_time": now.isoformat(),
        "timezone": "UTC",
        "timezone_offset": "+00:00",
        "timezone_abbreviation": "UTC",
        "formatted_time": now.strftime("%Y-%m-%d %H:%M:%S UTC"),
        "timestamp": now.timestamp(),
        "date": now.date().isoformat(),
        "time": now.strftime("%H:%M:%S"),
        "day_of_week": now.strftime("%A"),
    }
    kathmandu = time_of(timezone="Asia/Kathmandu")
    assert (kathmandu["timezone"], kathmandu["timezone_offset"]) == ("Asia/Kathmandu", "+05:45")


@pytest.mark.parametrize(
    "name",
    ["Mars/Base", "../../etc/passwd", "/etc/passwd", "Europe", "a\0b", "\ud800", "x" * 9999, "Europe/Oslo/", "."],
)
def test_an_unknown_time_zone_is_told_and_answered_in_utc(name: str) -> None:
    """Whatever the model writes; no file outside of the database is read."""
    told = time_of(timezone=name)
    assert (told["timezone"], told["timezone_offset"]) == ("UTC", "+00:00")
    assert "there is no time zone" in told["message"]
    assert len(told["message"]) < 400


def test_a_question_is_pending_and_shows_what_may_be_chosen() -> None:
    """One question stands alone; several are numbered."""
    ask = SHIPPED_TOOLS["ask_user_question"].call
    oslo, bergen = {"label": "Oslo", "description": "the capital"}, {"label": "Bergen"}
    one = ask(json.dumps({"questions": [{"question": "Which city?", "options": [oslo, bergen]}]}).encode())
    assert (one.outcome, one.content) == (Outcome.PENDING, "Which city?\n- Oslo: the capital\n- Bergen")
    day = {"question": "Which days?", "placeholder": "Monday", "multiSelect": True}
    two = ask(json.dumps({"message": "Nearly done.", "questions": [{"question": "Who?"}, day]}).encode())
    assert two.content == "Nearly done.\n1. Who?\n2. Which days? (several may be chosen) (such as Monday)"


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"questions": []},
        {"questions": [{"question": ""}]},
        {"questions": [{"question": "a?"}] * 5},
        {"questions": [{"question": "a?", "options": [{"label": str(number)} for number in range(5)]}]},
        {"questions": [{"question": "a?", "header": "x" * 13}]},
        {"questions": "a?"},
    ],
)
def test_arguments_that_do_not_fit_are_told_to_the_model(arguments: dict[str, Any]) -> None:
    """With the place, before anything happens."""
    outcome = SHIPPED_TOOLS["ask_user_question"].call(json.dumps(arguments).encode())
    assert (outcome.outcome, outcome.code) == (Outcome.ERROR, ErrorCode.INVALID_ARGUMENTS)
    assert "questions" in outcome.content


def test_a_group_is_all_its_tools_with_the_keys_of_its_entry(tmp_path: Path) -> None:
    """Each member that there is has the entry's scopes and approval; each that is missing is told."""
    entry = "{tool_type: builtin-group, group_name: general_agent_tools, required_scopes: ['tool:time:read'], hil: {}}"
    tools = registry_of(tmp_path, f"agent_name: a\ntools: [{entry}]\n")
    assert {name: tool.required_scopes for name, tool in tools.local.items()} == {
        "get_current_time": ("tool:time:read",),
        "ask_user_question": ("tool:time:read",),
    }
    assert [problem.tool for problem in tools.problems] == ["a/convert_file_to_markdown", "a/convert_pdf_to_markdown"]
    assert {problem.code for problem in tools.problems} == {ErrorCode.TOOL_NOT_AVAILABLE}


def test_a_tool_of_two_groups_is_there_once(tmp_path: Path) -> None:
    """The first entry counts, and both places are told: their keys may differ."""
    first = "{tool_type: builtin-group, group_name: builtin_time_tools}"
    second = "{tool_type: builtin, tool_name: get_current_time, required_scopes: ['tool:time:read']}"
    tools = registry_of(tmp_path, f"agent_name: a\ntools:\n  - {first}\n  - {second}\n")
    assert tools.local["get_current_time"].required_scopes == ()
    (problem,) = tools.problems
    assert "agent.yaml:3" in problem.message
    assert "agent.yaml:4" in problem.message
