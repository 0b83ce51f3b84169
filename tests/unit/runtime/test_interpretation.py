"""How a process ended, and what it left, decide the outcome; a failure never passes as success."""

import json

import pytest

from toolmesh_contracts.envelopes.reply import Outcome
from toolmesh_contracts.errors import ErrorCode
from toolmesh_runtime.process.interpretation import interpret
from toolmesh_sandbox.errors import OutputRefusedError, OutputTooLargeError
from toolmesh_sandbox.process import Exit, Usage

GOOD = json.dumps({"result": {"text": "fine", "data_objects": []}, "error": ""}).encode()


def ended(
    *,
    code: int | None = 0,
    signal: int | None = None,
    timed_out: bool = False,
    setup: str | None = None,
    stderr: bytes = b"",
    out_of_disk: bool = False,
) -> Exit:
    return Exit(
        code=code,
        signal=signal,
        timed_out=timed_out,
        killed=timed_out,
        setup_failed=setup,
        stdout=b"",
        stdout_dropped=0,
        stderr=stderr,
        stderr_dropped=0,
        usage=Usage(wall_ms=1, cpu_ms=1, peak_memory_bytes=1),
        out_of_disk=out_of_disk,
    )


def test_written_result_of_a_process_that_ended_well_counts() -> None:
    """The usual case."""
    assert interpret(ended(), GOOD, 5).message == "fine"


@pytest.mark.parametrize("exit_", [ended(code=1), ended(code=None, signal=11), ended(code=None, signal=9)])
def test_exit_status_decides_over_a_good_result(exit_: Exit) -> None:
    """A process that then failed or was killed may not have done what its result says."""
    returned = interpret(exit_, GOOD, 5)
    assert returned.error is not None
    assert returned.error.code is ErrorCode.EXECUTION_ERROR
    assert "not trusted" in returned.error.message


def test_error_of_a_process_that_failed_is_passed_on() -> None:
    """What the tool says of its failure is better than its exit code."""
    failed = json.dumps({"result": None, "error": "Execution error: no such city"}).encode()
    assert interpret(ended(code=1), failed, 5).message == "no such city"


@pytest.mark.parametrize(
    ("exit_", "code", "says"),
    [
        (ended(setup="bwrap: no"), ErrorCode.SANDBOX_FAILED, "did not run"),
        (ended(code=None, timed_out=True), ErrorCode.SANDBOX_TIMEOUT, "2.5 s"),
        (ended(code=0), ErrorCode.EXECUTION_ERROR, "exit code 0"),
        (ended(code=3, stderr=b"a\nValueError: b\n"), ErrorCode.EXECUTION_ERROR, "ValueError: b"),
        (ended(code=None, signal=24), ErrorCode.EXECUTION_ERROR, "max_cpu_seconds"),
        (ended(code=None, signal=25), ErrorCode.EXECUTION_ERROR, "max_file_size_mb"),
        (ended(code=None, signal=9), ErrorCode.EXECUTION_ERROR, "memory"),
        (ended(code=None, signal=9, out_of_disk=True), ErrorCode.EXECUTION_ERROR, "filled its folder"),
        (ended(code=None, signal=77), ErrorCode.EXECUTION_ERROR, "signal 77"),
    ],
)
def test_end_without_a_result_says_why(exit_: Exit, code: ErrorCode, says: str) -> None:
    """Set-up failure, time-out, limits, signals and exit codes are told apart; the last line of stderr is passed on."""
    returned = interpret(exit_, None, 2.5)
    assert returned.outcome is Outcome.ERROR
    assert returned.error is not None
    assert returned.error.code is code
    assert says in returned.error.message


def test_time_out_beats_a_result() -> None:
    """A process that was killed for its time has no result, even if it wrote one."""
    returned = interpret(ended(timed_out=True), GOOD, 1)
    assert returned.error is not None
    assert returned.error.code is ErrorCode.SANDBOX_TIMEOUT


def test_refused_result_file_is_an_error_that_says_why() -> None:
    """A link, a FIFO or a file over the limit is no result."""
    for refused, code in (
        (OutputRefusedError("result.json is refused: not a regular file"), ErrorCode.EXECUTION_ERROR),
        (OutputTooLargeError("result.json is refused: larger than 5 bytes"), ErrorCode.RESULT_TOO_LARGE),
    ):
        returned = interpret(ended(), refused, 1)
        assert returned.error is not None
        assert returned.error.code is code
        assert refused.message in returned.error.message


def test_operator_gets_stderr_beside_the_traceback() -> None:
    """Both are in the log's part; the model gets one line."""
    failed = json.dumps({"result": None, "error": "Execution error: x\nTraceback\nKeyError: x"}).encode()
    returned = interpret(ended(stderr=b"from stderr"), failed, 1)
    assert "Traceback" in returned.log
    assert "from stderr" in returned.log
    assert returned.error is not None
    assert returned.error.message == "KeyError: x"
