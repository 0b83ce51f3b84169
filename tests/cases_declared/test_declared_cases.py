"""The cases of declared tools hold through the real path: client, broker, worker, sandbox."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.declared_cases import CASES, run_cases

RUN = Path(__file__).with_name("run.py")


@pytest.mark.timeout(120)
@pytest.mark.requirement("declared:cases")
async def test_every_case_holds_through_a_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Load, refusal, text, status, files, time and what is left of every case, by the case's own fields."""
    monkeypatch.setenv("OPENAI_API_KEY", "TOPSECRET-123")
    judged = await run_cases(CASES, tmp_path)

    assert {name: faults for name, faults in judged.items() if faults} == {}
    assert len(judged) == len(CASES.read_text().splitlines())


@pytest.mark.timeout(180)
@pytest.mark.skipif(os.getuid() != 0, reason="the other test has run them as an ordinary user")
@pytest.mark.requirement("declared:cases")
def test_every_case_holds_for_a_worker_that_is_no_root() -> None:
    """The same as uid 65532, which can drop to nobody else."""
    ended = subprocess.run(
        [sys.executable, str(RUN), "--as", "65532"], check=False, capture_output=True, text=True, timeout=175
    )

    assert ended.stdout.splitlines()[-1:] == [f"declared: {len(CASES.read_text().splitlines())} of 61 right"], (
        ended.stdout + ended.stderr[-3000:]
    )
