"""How results are shown."""

import io
import json

import pytest

from toolmesh_cli.call_output import (
    exit_code_of_result,
    failure_document,
    print_json,
    print_result,
    result_document,
)
from toolmesh_cli.failures import Failure
from toolmesh_cli.followed_call import show_status
from toolmesh_cli.terminal import Terminal
from toolmesh_client.result import CallResult
from toolmesh_contracts.envelopes.reply import ErrorInfo, Outcome, Status, StatusState
from toolmesh_contracts.errors import ErrorCode

_ERROR = ErrorInfo(code=ErrorCode.TOOL_ERROR, message="no such city", hint="try Oslo")
_KEYS = {"outcome", "message", "data", "error", "artifacts", "usage"}


def _result(
    outcome: Outcome, error: ErrorInfo | None = None, message: str = "", data: bytes | None = None
) -> CallResult:
    return CallResult(
        invocation="id", pool="default", tool="t", outcome=outcome, message=message, raw_data=data, error=error
    )


def _printed(result: CallResult) -> tuple[str, str]:
    stdout, stderr = io.StringIO(), io.StringIO()
    print_result(result, Terminal(stdout, {}), Terminal(stderr, {}))
    return stdout.getvalue(), stderr.getvalue()


@pytest.mark.parametrize(
    ("outcome", "error", "code"),
    [
        (Outcome.OK, None, 0),
        (Outcome.PARTIAL, None, 0),
        (Outcome.PENDING, None, 6),
        (Outcome.ERROR, _ERROR, 1),
        (Outcome.ERROR, ErrorInfo(code=ErrorCode.SANDBOX_TIMEOUT, message="late"), 5),
        (Outcome.ERROR, ErrorInfo(code=ErrorCode.PERMISSION_DENIED, message="no"), 4),
        (Outcome.AUTH_REQUIRED, ErrorInfo(code=ErrorCode.AUTH_REQUIRED, message="sign in"), 6),
    ],
)
def test_each_outcome_has_its_exit_code(outcome: Outcome, error: ErrorInfo | None, code: int) -> None:
    """A script can tell success from the kinds of failure."""
    assert exit_code_of_result(_result(outcome, error)) == code


def test_the_result_is_on_stdout_and_an_error_on_stderr() -> None:
    """What a pipe takes is never mixed with messages."""
    assert _printed(_result(Outcome.OK, message="Sunny", data=b'{"celsius": 22}')) == (
        'Sunny\n{\n  "celsius": 22\n}\n',
        "",
    )
    assert _printed(_result(Outcome.ERROR, _ERROR)) == ("", "error [TOOL_ERROR]: no such city\nhint: try Oslo\n")


def test_a_question_is_shown_with_its_data_and_what_to_do() -> None:
    """A pending result is no success: the question is what a pipe takes, and how to go on is said beside it."""
    stdout, stderr = _printed(_result(Outcome.PENDING, message="Delete 3 files?", data=b'{"options": ["yes", "no"]}'))
    assert stdout == 'Delete 3 files?\n{\n  "options": [\n    "yes",\n    "no"\n  ]\n}\n'
    assert stderr.splitlines() == [
        "warning: the tool has not done it yet: it asks what stands below",
        "hint: this call is over; put the answer into the arguments of another call, as the tool describes it",
    ]


def test_a_tools_escape_codes_never_reach_the_terminal() -> None:
    """Neither as text nor as JSON."""
    stdout, _ = _printed(
        _result(
            Outcome.OK,
            message="\x1b[2Jgone",
            data=b'"\x1b]0;x\x07"'.replace(b"\x1b", b"\\u001b").replace(b"\x07", b"\\u0007"),
        )
    )
    stream = io.StringIO()
    print_json({"message": "\x1b[2J \x9b2J \u202e"}, Terminal(stream, {}))

    assert "\x1b" not in stdout
    assert "\x07" not in stdout
    assert stream.getvalue() == '{"message": "\\u001b[2J \\u009b2J \\u202e"}\n'
    assert json.loads(stream.getvalue()) == {"message": "\x1b[2J \x9b2J \u202e"}


def test_the_json_document_has_the_same_keys_however_a_call_ends() -> None:
    """A program reads one shape: for results and for calls that never were accepted."""
    ok = result_document(_result(Outcome.OK, data=b'{"a": 1}'), {})
    failed = failure_document(Failure(ErrorCode.TOOL_NOT_FOUND, "no tool", "look", 2))

    assert ok.keys() >= _KEYS
    assert failed.keys() >= _KEYS
    assert ok["data"] == {"a": 1}
    assert failed["error"]["code"] == "TOOL_NOT_FOUND"


@pytest.mark.parametrize(
    ("text", "progress", "shown"),
    [
        ("reading", None, "w  reading"),
        ("reading", 0.254, "w  25% reading"),
        ("50%", 0.5, "w  50%"),
        ("", 1.0, "w  100%"),
    ],
)
def test_a_status_says_how_far_the_tool_is(text: str, progress: float | None, shown: str) -> None:
    """Its percentage comes before its text, once."""
    stream = io.StringIO()
    status = Status(
        invocation="id", attempt=1, seq=1, state=StatusState.PROGRESS, worker="w", text=text, progress=progress, at_ms=1
    )
    show_status(status, Terminal(stream, {}))
    assert stream.getvalue() == f"{shown}\n"
