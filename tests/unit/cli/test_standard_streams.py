"""Streams that are closed, full or left by their reader, and Ctrl-C at any time: one outcome each, no traceback."""

import asyncio
import contextlib
import sys
from pathlib import Path

import pytest
from tests.support.running_mesh import COMMAND_DEADLINE_S, Finished, run_toolmesh, toolmesh_environment

_INTERRUPTS_ITSELF = """
import os, signal, time
signal.signal(signal.SIGINT, signal.default_int_handler)
os.kill(os.getpid(), signal.SIGINT)
time.sleep(30)
"""


async def _in_shell(command: str) -> Finished:
    """Runs a shell command line in which `toolmesh` is the one under test."""
    function = f'set -o pipefail; toolmesh() {{ "{sys.executable}" -m toolmesh_cli "$@"; }}; '
    process = await asyncio.create_subprocess_exec(
        "bash",
        "-c",
        function + command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=toolmesh_environment(),
    )
    try:
        async with asyncio.timeout(COMMAND_DEADLINE_S):
            stdout, stderr = await process.communicate()
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
    assert process.returncode is not None
    return Finished(process.returncode, stdout.decode(), stderr.decode())


@pytest.mark.parametrize("stream", ["2>&-", "2>/dev/full", "<&- 2>&-", "2> >(exec true)"])
async def test_results_arrive_without_a_usable_stderr(stream: str) -> None:
    """What is told on the way may be lost; the result is not."""
    ended = await _in_shell(f"toolmesh version --json {stream}")

    assert ended.code == 0
    assert ended.stdout.startswith("{")


async def test_a_failure_keeps_its_exit_code_without_a_usable_stderr() -> None:
    """Nobody reads the error, but a script still learns of it."""
    for stream in ("2>&-", "2>/dev/full"):
        ended = await _in_shell(f"toolmesh config validate /nowhere.yaml {stream}")
        assert (ended.code, ended.stderr) == (2, "")


async def test_a_closed_stdout_is_a_wish_for_no_output() -> None:
    """As `>/dev/null`; no traceback of a missing stream."""
    ended = await _in_shell("toolmesh version --json >&-")

    assert (ended.code, ended.stdout, ended.stderr) == (0, "", "")


async def test_a_full_stdout_is_one_error() -> None:
    """A script that stores the output must learn that it is incomplete."""
    ended = await _in_shell("toolmesh version --json >/dev/full")

    assert ended.code == 1
    assert ended.stderr.startswith("error [INVALID_REQUEST]: the output can't be written to stdout: No space left")
    assert "Traceback" not in ended.stderr


async def test_help_to_a_full_stdout_fails_too() -> None:
    """It is written by another library."""
    ended = await _in_shell("toolmesh --help >/dev/full")

    assert ended.code == 1
    assert "Traceback" not in ended.stderr
    assert "Exception ignored" not in ended.stderr


async def test_a_reader_that_went_away_is_told_to_nobody() -> None:
    """Quiet, with the exit code that shells give a program ended by SIGPIPE."""
    ended = await _in_shell("toolmesh version --json | exec true")

    assert (ended.code, ended.stderr) == (141, "")


async def test_ctrl_c_while_the_command_is_imported_is_no_traceback(tmp_path: Path) -> None:
    """The first tenth of a second is spent on imports."""
    (tmp_path / "typer.py").write_text(_INTERRUPTS_ITSELF)

    ended = await run_toolmesh("version", extra_environment={"PYTHONPATH": str(tmp_path)})

    assert (ended.code, ended.stderr) == (130, "error [CANCELLED]: interrupted\n")
