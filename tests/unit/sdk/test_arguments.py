"""What a model sends to a tool: everything wrong is named at once, and absent values find their defaults."""

import pytest
from tests.support.tool_process import ToolProcess

TOOL = """
    from toolmesh_sdk import tool_cli

    def run(city: str, days: int = 3, units: str | None = None, note: str = None, *, exact: bool = False):
        "Give back what came."
        return {"city": city, "days": days, "units": units, "note": note, "exact": exact}

    tool_cli(run)()
"""


def test_all_problems_are_named_at_once(tool: ToolProcess) -> None:
    """A model corrects its call in one step, not in five."""
    tool.write(TOOL)
    outcome = tool.call({"days": "many", "exact": "perhaps", "zip": 1})
    assert outcome.error == (
        "Execution error: Invalid arguments for run: city is missing; days must be a whole number, got 'many'; "
        "exact must be true or false, got 'perhaps'; zip is unknown (it takes city, days, units, note, exact)"
    )
    assert outcome.envelope is not None
    assert outcome.envelope["error_detail"]["type"] == "InvalidArgumentsError"
    assert outcome.exit_code == 0


def test_text_becomes_what_the_annotation_says(tool: ToolProcess) -> None:
    """Models write numbers and truth values in quotes."""
    tool.write(TOOL)
    outcome = tool.call({"city": "Oslo", "days": "7", "exact": "true"})
    assert outcome.result == {"city": "Oslo", "days": 7, "units": None, "note": None, "exact": True}


def test_null_means_the_default_where_null_is_no_value(tool: ToolProcess) -> None:
    """`days: null` is a model's way to leave it out; `note: str = None` takes null, as its author meant."""
    tool.write(TOOL)
    outcome = tool.call({"city": "Oslo", "days": None, "units": None, "note": None, "exact": None})
    assert outcome.result == {"city": "Oslo", "days": 3, "units": None, "note": None, "exact": False}
    properties = tool.schema()["run"]["parameters"]["properties"]
    assert properties["note"] == {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}


def test_an_optional_parameter_without_default_may_be_left_out(tool: ToolProcess) -> None:
    """It gets None, in functions and providers alike."""
    tool.write("from toolmesh_sdk import *\ndef run(a: int | None):\n    'Do.'\n    return [a]\ntool_cli(run)()")
    assert "required" not in tool.schema()["run"]["parameters"]
    assert tool.call().result["text"] == "[null]"


def test_extra_arguments_reach_a_function_that_takes_them(tool: ToolProcess) -> None:
    """`**rest` is advertised as additional properties of its annotation."""
    tool.write(
        "from toolmesh_sdk import *\ndef run(a, /, b=2, *args, **rest: int):\n    'Do.'\n    return [a, b, rest]\n"
        "tool_cli(run)()"
    )
    assert tool.call({"a": "x", "c": "3"}).result["text"] == '["x", 2, {"c": 3}]'
    assert "c must be a whole number" in tool.call({"a": "x", "c": "three"}).error


def test_a_large_argument_and_a_large_result_pass(tool: ToolProcess) -> None:
    """The files have no size limit of their own."""
    tool.write("from toolmesh_sdk import *\ndef run(a: str):\n    'Do.'\n    return a * 6\ntool_cli(run)()")
    assert len(tool.call({"a": "å" * 1_000_000}).result["text"]) == 6_000_000


@pytest.mark.parametrize("text", ["å 中 😀", "line\nbreak\u2028", "\x00\x1f", "«artifact_content:x»"])
def test_text_arrives_and_returns_unchanged(venv_tool: ToolProcess, text: str) -> None:
    """Other alphabets, control characters and embeds."""
    venv_tool.write("from toolmesh_sdk import *\ndef run(a: str):\n    'Do.'\n    return a\ntool_cli(run)()")
    assert venv_tool.call({"a": text}).result["text"] == text
