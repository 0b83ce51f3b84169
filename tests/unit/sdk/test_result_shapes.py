"""What a tool returns, and the envelope that its host reads."""

from typing import Any

import pytest
from tests.support.tool_process import ToolProcess

MARKED = {"_schema": "ToolResult", "_schema_version": "1.0"}

RETURNS: list[tuple[str, Any]] = [
    ('ToolResult.ok("m")', {**MARKED, "status": "success", "message": "m", "error_code": None}),
    (
        'ToolResult.ok("m", data={"a": 1})',
        {**MARKED, "status": "success", "message": "m", "error_code": None, "data": {"a": 1}},
    ),
    (
        'ToolResult.error("bad", code="E1", data={"x": 1})',
        {**MARKED, "status": "error", "message": "bad", "error_code": "E1", "data": {"x": 1}},
    ),
    (
        'ToolResult.error("bad", error_code="E1")',
        {**MARKED, "status": "error", "message": "bad", "error_code": "E1"},
    ),
    (
        'ToolResult.partial("half", error_code="E2")',
        {**MARKED, "status": "partial", "message": "half", "error_code": "E2"},
    ),
    (
        'ToolResult.pending("wait", data={"hil_request_id": "1"})',
        {**MARKED, "status": "pending", "message": "wait", "error_code": None, "data": {"hil_request_id": "1"}},
    ),
    (
        "ToolResult.auth_required()",
        {**MARKED, "status": "error", "message": "Authentication required", "error_code": "AUTH_REQUIRED"},
    ),
    ('ToolResult(status="weird")', {**MARKED, "status": "weird", "message": "", "error_code": None}),
    ("ToolResult.ok(None)", {**MARKED, "status": "success", "message": "", "error_code": None}),
    ("ToolResult.ok(0)", {**MARKED, "status": "success", "message": 0, "error_code": None}),
    ('ToolResult.ok({"k": [1]})', {**MARKED, "status": "success", "message": {"k": [1]}, "error_code": None}),
    ('ToolResult.ok("m").model_dump()', {**MARKED, "status": "success", "message": "m", "error_code": None}),
    ("None", {"text": None, "data_objects": []}),
    ('"plain"', {"text": "plain", "data_objects": []}),
    ('""', {"text": "", "data_objects": []}),
    ("42", {"text": "42", "data_objects": []}),
    ("True", {"text": "True", "data_objects": []}),
    ("[1, 'two']", {"text": '[1, "two"]', "data_objects": []}),
    ("(1, 2)", {"text": "[1, 2]", "data_objects": []}),
    ("b'bytes'", {"text": "bytes", "data_objects": []}),
    ("b'\\xff'", {"text": "/w==", "data_objects": []}),
    ('{"a": {"b": None}}', {"a": {"b": None}}),
    ("{'when': datetime(2026, 1, 2, 3, 4)}", {"when": "2026-01-02T03:04:00"}),
    ("{'set': {2, 1}, 'path': Path('/x'), 'id': UUID(int=1)}", None),
    ("{'n': Decimal('1.50'), 'raw': b'\\xff', 'color': Color.RED}", {"n": "1.50", "raw": "/w==", "color": "red"}),
    ("Point(1, 2)", {"x": 1, "y": 2}),
    ("{'nan': float('nan'), 'inf': [float('inf')]}", {"nan": None, "inf": [None]}),
    ("{Color.RED: 1, 5: 2}", {"red": 1, "5": 2}),
    ("'emoji \\U0001F600'", {"text": "emoji \U0001f600", "data_objects": []}),
]

TOOL = """
    from dataclasses import dataclass
    from datetime import datetime
    from decimal import Decimal
    from enum import Enum
    from pathlib import Path
    from uuid import UUID
    from toolmesh_sdk import DataDisposition, DataObject, DynamicToolProvider, ToolResult, provider_cli

    class Color(Enum):
        RED = "red"

    @dataclass
    class Point:
        x: int
        y: int

    class Shapes(DynamicToolProvider):
        def create_tools(self, tool_config=None):
            return []

    @Shapes.register_tool
    def give(expression: str):
        "Return what a Python expression makes."
        return eval(expression)

    provider_cli(Shapes)()
"""


@pytest.mark.parametrize(("expression", "expected"), RETURNS, ids=[row[0] for row in RETURNS])
def test_each_return_value_has_its_wire_shape(venv_tool: ToolProcess, expression: str, expected: Any) -> None:
    """Every row of the contract's table: the shape that old and new hosts read."""
    venv_tool.write(TOOL)
    outcome = venv_tool.call({"expression": expression})
    if expected is None:
        expected = {"set": [1, 2], "path": "/x", "id": "00000000-0000-0000-0000-000000000001"}
    assert outcome.result == expected
    assert outcome.exit_code == 0


@pytest.mark.parametrize(
    ("expression", "place"),
    [
        ("{'a': [1, object()]}", "result.a[1] is a object"),
        ("{(1, 2): 3}", "the key (1, 2)"),
        ("(lambda d: d.update(me=d) or d)({})", "result.me contains itself"),
        ("{'f': print}", "result.f is a"),
        ("{'g': (n for n in [1])}", "result.g is a generator"),
        ("(n for n in [1])", "result is a generator"),
    ],
)
def test_what_json_cannot_carry_is_an_error_that_names_the_place(
    venv_tool: ToolProcess, expression: str, place: str
) -> None:
    """The published SDK crashed after the work, or reported an object's address as success."""
    venv_tool.write(TOOL)
    outcome = venv_tool.call({"expression": expression})
    assert place in outcome.error
    assert outcome.exit_code == 0
    assert outcome.envelope is not None
    assert outcome.envelope["error_detail"]["type"] == "ResultNotSerialisableError"


def test_nan_is_sent_as_null_with_a_note(tool: ToolProcess) -> None:
    """No host can parse NaN; the note says where it was."""
    tool.write(TOOL)
    outcome = tool.call({"expression": "{'temperature': float('nan')}"})
    assert outcome.result == {"temperature": None}
    assert outcome.envelope is not None
    assert outcome.envelope["notes"] == [
        "result.temperature was nan; it is sent as null, because JSON has no such number"
    ]


def test_a_lone_surrogate_is_replaced(tool: ToolProcess) -> None:
    """No UTF-8 reader could take it."""
    tool.write(TOOL)
    outcome = tool.call({"expression": "'a\\ud800b'"})
    assert outcome.result == {"text": "a\ufffdb", "data_objects": []}


def test_inline_objects_stay_in_the_result_and_stored_ones_leave_it(tool: ToolProcess) -> None:
    """Dispositions decide what goes to the output folder, and the index keeps what a file cannot say."""
    tool.write(TOOL)
    objects = (
        '[DataObject("a/r.csv", "x,y", "text/csv", DataDisposition.ARTIFACT, "rows", None, {"n": 1}),'
        ' DataObject("p.png", b"\\x89\\xff", "image/png", DataDisposition.ARTIFACT_WITH_PREVIEW, preview="a dot"),'
        ' DataObject("auto.txt", "short"), DataObject("i.bin", b"\\xff", disposition=DataDisposition.INLINE),'
        ' DataObject("later.txt", "z", disposition="newer")]'
    )
    outcome = tool.call({"expression": f'ToolResult.ok("m", data_objects={objects})'})
    assert [entry["name"] for entry in outcome.result["data_objects"]] == ["i.bin", "later.txt"]
    assert outcome.result["data_objects"][0] == {
        "name": "i.bin",
        "content": "/w==",
        "is_binary": True,
        "mime_type": "text/plain",
        "disposition": "inline",
        "description": None,
        "preview": None,
        "metadata": None,
    }
    assert (outcome.output / "a/r.csv").read_text() == "x,y"
    assert (outcome.output / "p.png").read_bytes() == b"\x89\xff"
    assert outcome.index == {
        "a/r.csv": {
            "mime_type": "text/csv",
            "description": "rows",
            "metadata": {"n": 1},
            "disposition": "artifact",
        },
        "p.png": {"mime_type": "image/png", "preview": "a dot", "disposition": "artifact_with_preview"},
        "auto.txt": {"mime_type": "text/plain", "disposition": "auto"},
    }


def test_objects_that_cannot_be_kept_make_a_partial_result_that_says_so(tool: ToolProcess) -> None:
    """Work that is done is not thrown away, and what was lost is no silent success."""
    tool.write(TOOL)
    objects = (
        '[DataObject("../escape", "x"), DataObject("/abs", "x"), DataObject("", "x"), DataObject("none", None),'
        ' {"name": "d.txt", "content": "from a dict"}, DataObject("same", "1"), DataObject("same", "2")]'
    )
    outcome = tool.call({"expression": f'ToolResult.ok("done", data_objects={objects})'})
    assert outcome.result["status"] == "partial"
    assert outcome.result["message"].startswith("done (not kept: ../escape: '../escape' leaves the output folder")
    assert [entry["name"] for entry in outcome.result["data_object_errors"]] == ["../escape", "/abs", "", "none"]
    assert (outcome.output / "d.txt").read_text() == "from a dict"
    assert (outcome.output / "same").read_text() == "1"
    assert (outcome.output / "same-2").read_text() == "2"
    assert not (outcome.output.parent / "escape").exists()


def test_results_round_trip_through_their_wire_form() -> None:
    """`from_serialized` undoes `to_serializable`, for hosts and tests that use the SDK's own types."""
    from toolmesh_sdk import DataDisposition, DataObject, ToolResult

    result = ToolResult.ok("m", {"a": 1}, [DataObject("b", b"\xff", "x/y", DataDisposition.INLINE, "d", "p", {"k": 1})])
    assert ToolResult.from_serialized(result.to_serializable()) == result
    with pytest.raises(ValueError, match="not a serialized ToolResult"):
        ToolResult.from_serialized({"status": "success"})
    broken = {**result.to_serializable(), "data_objects": [{"name": "x"}]}
    with pytest.warns(UserWarning, match="left out: data object lacks content"):
        repaired = ToolResult.from_serialized(broken)
    assert repaired.data_objects == []
