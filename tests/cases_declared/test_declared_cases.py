"""The cases of declared tools hold through the real path: client, broker, worker, sandbox."""

import os
import subprocess
from pathlib import Path

import pytest
from tests.support.declared_cases import CASES, run_cases
from tests.support.python_commands import ROOT, module_command, open_to_all

FILES = (CASES, Path(__file__).with_name("own-cases.jsonl"))


@pytest.mark.timeout(120)
@pytest.mark.requirement("declared:cases")
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
async def test_every_case_holds_through_a_worker(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Load, refusal, text, status, files, time and what is left of every case, by the case's own fields."""
    monkeypatch.setenv("OPENAI_API_KEY", "TOPSECRET-123")
    judged = await run_cases(file, tmp_path)

    assert {name: faults for name, faults in judged.items() if faults} == {}
    assert len(judged) == _count(file)


@pytest.mark.timeout(180)
@pytest.mark.skipif(os.getuid() != 0, reason="the other test has run them as an ordinary user")
@pytest.mark.skipif(not open_to_all(ROOT), reason="no other user can enter this checkout")
@pytest.mark.requirement("declared:cases")
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_case_holds_for_a_worker_that_is_no_root(file: Path) -> None:
    """The same as uid 65532, which can drop to nobody else."""
    ended = subprocess.run(
        module_command("tests.cases_declared.run", "--as", "65532", str(file)),
        check=False,
        capture_output=True,
        text=True,
        timeout=175,
    )

    count = _count(file)
    assert ended.stdout.splitlines()[-1:] == [f"declared: {count} of {count} right"], (
        ended.stdout + ended.stderr[-3000:]
    )


def _count(file: Path) -> int:
    return len(file.read_text().splitlines())
