"""What a finished command means to the model, and what a program reads beside it."""

import json
import signal
from typing import Any

import pytest

from toolmesh_contracts.envelopes.reply import Outcome
from toolmesh_contracts.errors import ErrorCode
from toolmesh_runtime.declared.command_output import command_return
from toolmesh_sandbox.pipes import Capture
from toolmesh_sandbox.process import Exit, Usage

LIMIT = 10


def ended(output: bytes, cap: int = 1000, **fields: Any) -> Exit:
    capture = Capture(cap)
    for start in range(0, len(output), 7):
        capture.add(output[start : start + 7])
    defaults: dict[str, Any] = {"code": 0, "signal": None, "timed_out": False, "killed": False, "setup_failed": None}
    return Exit(
        stdout=capture.kept,
        stdout_dropped=capture.dropped,
        stdout_dropped_characters=capture.dropped_characters,
        stderr=b"",
        stderr_dropped=0,
        usage=Usage(wall_ms=1, cpu_ms=1, peak_memory_bytes=1),
        **{**defaults, **fields},
    )


TIMED_OUT = {"code": None, "signal": signal.SIGKILL, "timed_out": True, "killed": True}


@pytest.mark.parametrize(
    ("output", "fields", "text", "error", "status"),
    [
        (b"out\n", {}, "out\n", None, {"exit_code": 0}),
        (b"", {}, "[exit code 0]", None, {"exit_code": 0}),
        (b"\n", {}, "\n", None, {"exit_code": 0}),
        (b"", {"code": 7}, "[exit code 7]", ErrorCode.TOOL_ERROR, {"exit_code": 7}),
        (b"boom\n", {"code": 3}, "boom\n", ErrorCode.TOOL_ERROR, {"exit_code": 3}),
        (b"", {"code": None, "signal": 15}, "[exit code 143]", ErrorCode.TOOL_ERROR, {"exit_code": 143}),
        (b"", {"code": None, "signal": 11}, "[exit code 139]", ErrorCode.TOOL_ERROR, {"exit_code": 139}),
        (b"x" * 10, {}, "x" * 10, None, {"truncated": False}),
        (b"x" * 11, {}, "x" * 10 + "\n[output cut: 1 characters dropped]", None, {"dropped_characters": 1}),
        (b"", TIMED_OUT, "[timed out after 0.5 s]", ErrorCode.SANDBOX_TIMEOUT, {"exit_code": None, "timed_out": True}),
        (b"a", TIMED_OUT, "a\n[timed out after 0.5 s]", ErrorCode.SANDBOX_TIMEOUT, {"timed_out": True}),
        (b"a\n", TIMED_OUT, "a\n[timed out after 0.5 s]", ErrorCode.SANDBOX_TIMEOUT, {"timed_out": True}),
        (b"a\xff\xfe", {}, "a\ufffd\ufffd", None, {"exit_code": 0}),
        (b"[timed out after 0.5 s]"[:10], {}, "[timed out", None, {"timed_out": False}),
    ],
)
@pytest.mark.requirement("declared:result")
def test_text_and_status(
    output: bytes, fields: dict[str, Any], text: str, error: ErrorCode | None, status: dict[str, Any]
) -> None:
    """Text as the page words it; whether it is an error is said beside it, whatever the tool prints."""
    returned = command_return(ended(output, **fields), LIMIT, 0.5)

    assert returned.message == text
    assert (returned.error.code if returned.error else None) == error
    assert returned.outcome is (Outcome.ERROR if error else Outcome.OK)
    assert returned.data is not None
    assert json.loads(returned.data).items() >= status.items()


@pytest.mark.parametrize("cap", range(1, 14))
@pytest.mark.requirement("declared:result")
def test_the_count_is_true_past_the_capture(cap: int) -> None:
    """Characters and not bytes, wherever the capture's end divides one."""
    returned = command_return(ended("aé€😀".encode() * 5, cap=cap), 2, 1)

    shown = "aé€😀"[:2] if cap >= 3 else "a"
    assert returned.message == f"{shown}\n[output cut: {20 - len(shown)} characters dropped]"


def test_a_sandbox_that_failed_is_no_tools_error() -> None:
    """Its words go to the log."""
    returned = command_return(ended(b"", code=None, setup_failed="bwrap: no"), LIMIT, 1)

    assert returned.error is not None
    assert (returned.error.code, returned.log) == (ErrorCode.SANDBOX_FAILED, "bwrap: no")


def test_a_tool_without_memory_is_told_so() -> None:
    """As a note, not in its text."""
    returned = command_return(ended(b"", code=None, signal=9, out_of_memory=True), LIMIT, 1)

    assert returned.message == "[exit code 137]"
    assert "memory" in returned.notes[0]
