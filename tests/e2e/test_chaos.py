"""The chaos harness notices a mesh that is broken."""

import asyncio
import json
import re
import sys
from pathlib import Path

import pytest
from tests.support.python_commands import ROOT

_SECONDS = 30


@pytest.mark.timeout(300)
async def test_workers_without_fencing_are_found_out(tmp_path: Path) -> None:
    """Where a dead worker's call is taken as new, calls are doubled: told in the last line, the exit code and the report."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "tests.load.chaos", "--seconds", str(_SECONDS), "--report", str(tmp_path)),
        *("--worker", "tests.load.chaos.forgetful_worker_program"),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        stdout, stderr = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    last = stdout.decode().splitlines()[-1]
    said = re.fullmatch(r"chaos: accepted=(\d+) succeeded=(\d+) failed=(\d+) lost=(\d+) doubled=(\d+)", last)
    assert said is not None, stdout.decode() + stderr.decode()
    accepted, succeeded, failed, lost, doubled = map(int, said.groups())
    assert process.returncode == 1
    assert doubled > 0
    assert accepted == succeeded + failed + lost
    figures = json.loads((tmp_path / "chaos.json").read_text())
    twice = {violation["call"] for violation in figures["violations"] if violation["kind"] == "doubled"}
    assert len(twice) == doubled
    assert all(len(figures["histories"][call]["effects"]) > 1 for call in twice)
    assert twice.pop() in (tmp_path / "chaos.html").read_text()
    assert (tmp_path / "chaos.png").read_bytes().startswith(b"\x89PNG")
