"""Every result shape that SDKs and tools write becomes the right outcome; none is a false success."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmesh_contracts.envelopes.reply import Outcome
from toolmesh_contracts.errors import ErrorCode
from toolmesh_runtime.process.result_envelope import read_envelope

MARK = {"_schema": "ToolResult", "_schema_version": "1.0", "error_code": None}


def envelope(result: Any, error: str = "") -> bytes:
    return json.dumps({"result": result, "error": error}).encode()


@pytest.mark.parametrize(
    ("result", "outcome", "message", "data"),
    [
        ({**MARK, "status": "success", "message": "m"}, Outcome.OK, "m", None),
        ({**MARK, "status": "success", "message": "m", "data": {"a": 1}}, Outcome.OK, "m", {"a": 1}),
        ({**MARK, "status": "success", "message": {"a": 1}}, Outcome.OK, "", {"a": 1}),
        ({**MARK, "status": "success", "message": {"a": 1}, "data": [2]}, Outcome.OK, '{"a":1}', [2]),
        ({**MARK, "status": "success", "message": None}, Outcome.OK, "", None),
        ({**MARK, "status": "partial", "message": "half"}, Outcome.PARTIAL, "half", None),
        (
            {**MARK, "status": "pending", "message": "?", "data": {"hil_request_id": "x"}},
            Outcome.PENDING,
            "?",
            {"hil_request_id": "x"},
        ),
        ({"status": "success", "message": "m", "data": None, "data_objects": []}, Outcome.OK, "m", None),
        ({"text": "plain", "data_objects": []}, Outcome.OK, "plain", None),
        ({"text": None, "data_objects": []}, Outcome.OK, "", None),
        ({"status": "open", "count": 2}, Outcome.OK, "", {"status": "open", "count": 2}),
        ({}, Outcome.OK, "", {}),
        ("plain", Outcome.OK, "plain", None),
        ([1, 2], Outcome.OK, "", [1, 2]),
        (0, Outcome.OK, "", 0),
        (False, Outcome.OK, "", False),
        (None, Outcome.OK, "", None),
    ],
)
@pytest.mark.requirement("process:results")
def test_successful_shapes(result: Any, outcome: Outcome, message: str, data: Any) -> None:
    """Marked, unmarked, legacy and plain results all arrive, with the text and the value in their places."""
    returned = read_envelope(envelope(result))
    assert (returned.outcome, returned.message) == (outcome, message)
    assert (json.loads(returned.data) if returned.data is not None else None) == data
    assert returned.error is None


@pytest.mark.parametrize(
    ("result", "outcome", "code", "message", "kind"),
    [
        (
            {**MARK, "status": "error", "message": "bad", "error_code": "E1"},
            Outcome.ERROR,
            ErrorCode.TOOL_ERROR,
            "bad",
            "E1",
        ),
        (
            {**MARK, "status": "weird", "message": "m"},
            Outcome.ERROR,
            ErrorCode.TOOL_ERROR,
            "unknown status 'weird'",
            "",
        ),
        ({**MARK, "status": 7, "message": "m"}, Outcome.ERROR, ErrorCode.TOOL_ERROR, "unknown status 7", ""),
        (
            {**MARK, "status": "error", "message": "sign in", "error_code": "AUTH_REQUIRED"},
            Outcome.AUTH_REQUIRED,
            ErrorCode.AUTH_REQUIRED,
            "sign in",
            "",
        ),
    ],
)
@pytest.mark.requirement("process:results")
def test_error_shapes(result: Any, outcome: Outcome, code: ErrorCode, message: str, kind: str) -> None:
    """A tool's own error, an unknown status and a wish to sign in are told apart."""
    returned = read_envelope(envelope(result))
    assert returned.outcome is outcome
    assert returned.error is not None
    assert (returned.error.code, returned.error.type) == (code, kind)
    assert message in returned.error.message


def test_exception_gives_the_model_one_line_and_the_operator_the_rest() -> None:
    """The traceback has paths and source lines: it goes to the log, its last line to the model."""
    text = 'Execution error: no such city\nTraceback (most recent call last):\n  File "/x/weather.py", line 3\nKeyError: no such city\n'
    returned = read_envelope(envelope(None, text))
    assert returned.error is not None
    assert returned.error.message == "KeyError: no such city"
    assert returned.error.type == "KeyError"
    assert returned.log == text


def test_one_line_error_keeps_its_text() -> None:
    """Go tools write a single line."""
    returned = read_envelope(envelope(None, 'tool "x" not found in binary'))
    assert returned.error is not None
    assert returned.error.message == 'tool "x" not found in binary'


def test_structured_error_is_preferred() -> None:
    """Our SDK says class, message and whether a retry can help."""
    document = {
        "result": None,
        "error": "long\ntext",
        "error_detail": {"type": "TimeoutError", "message": "slow", "retryable": True},
    }
    returned = read_envelope(json.dumps(document).encode())
    assert returned.error is not None
    assert (returned.error.message, returned.error.type, returned.error.retryable) == (
        "TimeoutError: slow",
        "TimeoutError",
        True,
    )


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"[]", b"null", b"{}", b'{"x": 1}', b"\x00", b'{"result": ' + b"[" * 5000 + b"]" * 5000 + b"}"],
)
@pytest.mark.requirement("process:results")
def test_what_is_no_envelope_is_an_error(data: bytes) -> None:
    """Nothing unreadable passes as success."""
    returned = read_envelope(data)
    assert returned.outcome is Outcome.ERROR
    assert returned.error is not None
    assert returned.error.code is ErrorCode.EXECUTION_ERROR


def test_nan_and_invalid_text_are_repaired_with_a_note() -> None:
    """NaN and Infinity become null, bytes that are no UTF-8 and lone surrogates become U+FFFD; both are said."""
    data = b'{"result": {"a": NaN, "b": [-Infinity, 1e999], "c": "\xff", "d": "\\ud800"}, "error": ""}'
    returned = read_envelope(data)
    assert returned.outcome is Outcome.OK
    assert returned.data is not None
    assert json.loads(returned.data) == {"a": None, "b": [None, None], "c": "\ufffd", "d": "?"}
    assert len(returned.notes) == 2


def test_data_objects_are_read_and_bad_ones_noted() -> None:
    """Text, binary and file-backed outputs are kept; one bad entry doesn't cost the others."""
    objects = [
        {"name": "a.txt", "content": "hi", "is_binary": False, "mime_type": "text/plain", "disposition": "inline"},
        {"name": "b.bin", "content": "AAE=", "is_binary": True},
        {"name": "c.csv", "content": None, "mime_type": "text/csv", "inline_max_bytes": 9, "tags": ["__working"]},
        {"name": "", "content": "x"},
        {"name": "d", "content": "?", "is_binary": True},
        7,
    ]
    returned = read_envelope(envelope({**MARK, "status": "success", "message": "m", "data_objects": objects}))
    assert [(item.name, item.content) for item in returned.data_objects] == [
        ("a.txt", b"hi"),
        ("b.bin", b"\x00\x01"),
        ("c.csv", None),
    ]
    assert len(returned.notes) == 3


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text() | st.integers(),
        lambda s: st.lists(s) | st.dictionaries(st.text(), s),
        max_leaves=20,
    )
)
def test_any_json_value_is_read_without_a_crash(value: Any) -> None:
    """Whatever a tool returns, the outcome is defined and its data is valid JSON."""
    returned = read_envelope(envelope(value))
    if returned.data is not None:
        json.loads(returned.data)
    assert (returned.error is None) == (returned.outcome in {Outcome.OK, Outcome.PARTIAL, Outcome.PENDING})


@pytest.mark.parametrize(
    ("kind", "code", "message"),
    [
        ("ToolError", ErrorCode.TOOL_ERROR, "no such city"),
        ("InvalidArgumentsError", ErrorCode.INVALID_ARGUMENTS, "no such city"),
        ("KeyError", ErrorCode.TOOL_ERROR, "KeyError: no such city"),
    ],
)
def test_errors_of_our_sdk_speak_for_themselves(kind: str, code: ErrorCode, message: str) -> None:
    """What an author wrote for the model stays as it is; other exceptions are named."""
    document = {
        "result": None,
        "error": "x",
        "error_detail": {"type": kind, "message": "no such city", "retryable": False},
    }
    returned = read_envelope(json.dumps(document).encode())
    assert returned.error is not None
    assert (returned.error.code, returned.error.message) == (code, message)


def test_notes_of_an_sdk_are_passed_on() -> None:
    """What it had to change, and outputs that it could not keep."""
    result = {**MARK, "status": "partial", "message": "m", "data_object_errors": ["a.txt: no content", {"name": "b"}]}
    returned = read_envelope(json.dumps({"result": result, "error": "", "notes": ["NaN became null"]}).encode())
    assert returned.notes == ("NaN became null", "a.txt: no content", '{"name":"b"}')
