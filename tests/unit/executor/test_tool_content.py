"""What a model reads of a tool's result."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmesh_client.result import CallResult
from toolmesh_contracts.envelopes.reply import Outcome
from toolmesh_executor.loop.json_shape import json_shape
from toolmesh_executor.loop.tool_content import tool_content


def result(message: str = "", data: object = None) -> CallResult:
    raw = None if data is None else json.dumps(data).encode()
    return CallResult(invocation="i", pool="p", tool="t", outcome=Outcome.OK, message=message, raw_data=raw)


def test_a_short_result_is_shown_whole() -> None:
    """Message and value."""
    assert tool_content(result("two", {"a": 1}), 8192, 4) == 'two\n{\n  "a": 1\n}'


@pytest.mark.requirement("loop:content")
def test_a_long_value_is_shown_by_its_shape() -> None:
    """Half a JSON document makes a model invent the rest."""
    rows = [{"name": f"row {number}", "size": number, "tags": ["a"]} for number in range(300)]
    content = tool_content(result("300 rows", {"rows": rows}), 8192, 4)
    assert len(content.encode()) <= 8192
    assert content.startswith("300 rows\nthe value has ")
    assert "over the limit of 8192" in content
    shape = json.loads(content.split("Its shape: ")[1])
    row = {"name": "string", "size": "integer", "tags": ["string", "list of 1, the first is shown"]}
    assert shape == {"rows": [row, "list of 300, the first is shown"]}


def test_a_long_text_is_cut_with_a_note() -> None:
    """The model learns how much is missing."""
    content = tool_content(result("x" * 20_000), 8192, 4)
    assert len(content.encode()) == 8192
    assert content.endswith(
        "[cut: the result has 20000 bytes, over the limit of 8192; ask the tool for less, such as a part or a count]"
    )


def test_a_shape_is_bounded_in_width_and_depth() -> None:
    """Whatever the value is."""
    shape = json_shape({f"{number}": number for number in range(25)}, 1)
    assert len(shape) == 21
    assert shape["..."] == "5 more keys"
    assert json_shape({"a": {"b": {"c": 1}}}, 2) == {"a": {"b": "object of 1 keys"}}
    assert json_shape([[1.5, None], True], 1) == ["list of 2", "list of 2, the first is shown"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters()),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=30,
)


@given(st.text(st.characters(), max_size=3000), JSON, st.integers(200, 3000))
def test_content_is_never_over_the_limit(message: str, data: object, limit: int) -> None:
    """Counted in bytes, whatever characters there are."""
    assert len(tool_content(result(message, data), limit, 4).encode()) <= limit
