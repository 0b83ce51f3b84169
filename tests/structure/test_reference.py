"""Every row of a contract names tests, and tests that are there."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.reference.levels import Level, level_of
from tests.reference.rooms import rooms, rows_of
from tests.reference.run import fault, untold

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("room", rooms())
def test_every_row_names_its_outcome_and_a_test(room: str) -> None:
    """A row that nothing checks says what is lacking, and two rows of one name would hide one another."""
    rows = rows_of(room)
    identifiers = [row.identifier for row in rows]
    assert sorted({name for name in identifiers if identifiers.count(name) > 1}) == []
    assert [row.identifier for row in rows if not row.outcome or ":" not in row.identifier] == []
    assert [row.identifier for row in rows if bool(row.tests) == bool(row.lacks)] == []
    assert [row.identifier for row in rows if bool(row.told_in) != bool(row.lacks)] == []
    assert [wrong for row in rows if row.lacks and (wrong := untold(row.lacks, ROOT / row.told_in))] == []


@pytest.mark.parametrize("room", rooms())
def test_every_row_goes_through_a_worker_or_says_why_not(room: str) -> None:
    """A reason beside such a test would be untrue, and a row without either could have been forgotten."""
    assert [row.identifier for row in rows_of(room) if row.through_worker is bool(row.apart)] == []


def test_a_tests_level_is_what_it_uses() -> None:
    """Directly, by a fixture or a function of its module, or through tests/support; and only there."""
    worker = "tests/integration/runtime"
    assert level_of(f"{worker}/test_worker_outcomes.py::test_tool_sees_a_clean_environment") is Level.WORKER
    assert level_of(f"{worker}/test_go_tools.py::test_go_results_have_their_outcome") is Level.WORKER
    by_fixture = f"{worker}/test_annotations_at_work.py::test_value_sent_by_the_schema_arrives_as_annotated[str]"
    assert level_of(by_fixture) is Level.WORKER
    assert level_of(f"{worker}/test_published_sdk_calls.py::test_no_status_is_lost_or_glued") is Level.PART
    assert level_of("tests/unit/sdk/test_arguments.py::test_all_problems_are_named_at_once") is Level.PART


def test_every_test_of_a_row_exists() -> None:
    """A renamed test would leave its row without a proof."""
    named = sorted({test for room in rooms() for row in rows_of(room) for test in row.tests})
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--collect-only",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        *named,
    ]
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_"))}
    done = subprocess.run(command, cwd=ROOT, env=plain, capture_output=True, text=True, check=False, timeout=50)
    missing = [line for line in (done.stdout + done.stderr).splitlines() if line.startswith("ERROR")]
    assert (done.returncode, missing) == (0, [])


def test_a_row_is_proven_by_tests_that_passed_and_nothing_else() -> None:
    """What was skipped, did not run or passed only in part proves nothing."""
    outcomes = {"t.py::a": "passed", "t.py::b[1]": "passed", "t.py::b[2]": "failed", "t.py::c": "skipped"}
    assert fault(["t.py::a", "t.py::b[1]"], outcomes) == ""
    assert fault([], outcomes) == "no test"
    assert fault(["t.py::a", "t.py::b"], outcomes) == "t.py::b failed"
    assert fault(["t.py::c"], outcomes) == "t.py::c was skipped"
    assert fault(["t.py::d"], outcomes) == "t.py::d did not run"


def test_what_is_lacking_has_to_be_said_by_its_page(tmp_path: Path) -> None:
    """However its lines are broken; a row fails when its sentence is taken away."""
    page = tmp_path / "page.md"
    page.write_text("- Cards: there are\n  no cards.\n", encoding="utf-8")
    assert untold("there are no cards", page) == ""
    page.write_text("- Cards.\n", encoding="utf-8")
    assert untold("there are no cards", page) == "page.md does not say: there are no cards"
