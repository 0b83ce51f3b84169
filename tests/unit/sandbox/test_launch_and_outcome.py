"""Start orders and reports on their way, and what a report means."""

import signal

import pytest

from toolmesh_sandbox.launch import Launch, Report
from toolmesh_sandbox.limits import Rlimit
from toolmesh_sandbox.pipes import Capture
from toolmesh_sandbox.process import Exit, outcome


def launch(*, bwrap: bool) -> Launch:
    return Launch(
        program="/bin/x\udcff",
        argv=("x", "ä\udcff"),
        env={"A": "b\n"},
        cwd="/",
        uid=None,
        nice=3,
        rlimits=(Rlimit("CPU", 1, 2),),
        wall_clock_s=1.5,
        bwrap=bwrap,
    )


def ended(report: Report, *, bwrap: bool, stderr: bytes = b"") -> Exit:
    errors = Capture(10_000)
    errors.add(stderr)
    return outcome(report, launch(bwrap=bwrap), Capture(10), errors)


def test_a_launch_and_a_report_survive_their_way() -> None:
    """Names that are no UTF-8 included."""
    assert Launch.decode(launch(bwrap=True).encode()) == launch(bwrap=True)
    report = Report(status=9, killed=True, bwrap_status="{}", error="ä")
    assert Report.decode(report.encode()) == report


@pytest.mark.parametrize(
    ("status", "code", "number"), [(0, 0, None), (3, 3, None), (128, 128, None), (139, None, 11), (255, 255, None)]
)
def test_bubblewraps_exit_code_is_the_tools_code_or_signal(status: int, code: int | None, number: int | None) -> None:
    """128 + n is a signal; beyond the signals it is a code again."""
    report = Report(status=status << 8, bwrap_status=f'{{ "child-pid": 7 }}\n{{ "exit-code": {status} }}\n')
    result = ended(report, bwrap=True)
    assert (result.code, result.signal, result.setup_failed) == (code, number, None)


@pytest.mark.parametrize(
    ("report", "stderr", "said"),
    [
        (Report(status=256, bwrap_status='{ "child-pid": 7 }'), b"bwrap: Can't mkdir\n", "bwrap: Can't mkdir"),
        (Report(status=9), b"", "bwrap ended with wait status 9"),
        (Report(error="/bwrap: [Errno 2] gone"), b"", "/bwrap: [Errno 2] gone"),
        (Report(killed=True, error="RLIMIT_NPROC could not be set"), b"", "RLIMIT_NPROC could not be set"),
    ],
)
def test_what_was_never_executed_is_a_setup_failure(report: Report, stderr: bytes, said: str) -> None:
    """Bubblewrap states an exit code only for what it has run."""
    result = ended(report, bwrap=True, stderr=stderr)
    assert (result.code, result.signal, result.setup_failed) == (None, None, said)


@pytest.mark.parametrize("bwrap", [True, False])
def test_a_killed_command_has_signal_9_and_no_setup_failure(*, bwrap: bool) -> None:
    """Bubblewrap states no exit code when it is killed, which is no failure of its own."""
    result = ended(Report(status=9, killed=True, timed_out=True), bwrap=bwrap)
    assert (result.code, result.signal, result.setup_failed) == (None, signal.SIGKILL, None)
    assert result.timed_out


@pytest.mark.parametrize(
    ("report", "code", "number", "said"),
    [
        (Report(status=5 << 8), 5, None, None),
        (Report(status=200 << 8), 200, None, None),
        (Report(status=11), None, 11, None),
        (Report(error="x: no such file"), None, None, "x: no such file"),
    ],
)
def test_a_plain_commands_wait_status_is_read_as_it_is(
    report: Report, code: int | None, number: int | None, said: str | None
) -> None:
    """Without bubblewrap between, 128 + n has no meaning."""
    result = ended(report, bwrap=False)
    assert (result.code, result.signal, result.setup_failed) == (code, number, said)


@pytest.mark.parametrize("said", [b"bwrap: Can't mkdir /x", b"prlimit: failed to execute x: No such file or directory"])
def test_a_tool_that_talks_like_bubblewrap_has_failed_by_itself(said: bytes) -> None:
    """What it prints and returns is its own: bubblewrap has stated an exit code, so the tool has run."""
    result = ended(Report(status=127 << 8, bwrap_status='{ "exit-code": 127 }'), bwrap=True, stderr=said)
    assert (result.code, result.setup_failed) == (127, None)
