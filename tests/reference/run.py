"""Proves the rows of one room: `python tests/reference/run.py ROOM`.

Runs exactly the tests that the rows name, all in one go. Prints each row that differs on purpose and each that no test
takes through a worker, with their reasons, each row that has no test or whose test did not pass, how many of the proven
rows a worker proves, and last `reference: N of M rows`.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


class Outcomes:
    """Collects how each test ended."""

    def __init__(self) -> None:
        self.by_node: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the worst of a test's set-up, call and tear-down."""
        if report.when == "call" or report.outcome != "passed":
            self.by_node[report.nodeid] = report.outcome


def fault(tests: Sequence[str], outcomes: Mapping[str, str], lacks: str = "") -> str:
    """Return why a row is not proven, or nothing."""
    if lacks:
        return lacks
    if not tests:
        return "no test"
    for test in tests:
        ended = [outcome for node, outcome in outcomes.items() if node == test or node.startswith(f"{test}[")]
        if not ended:
            return f"{test} did not run"
        if set(ended) != {"passed"}:
            return f"{test} {'failed' if 'failed' in ended else 'was skipped'}"
    return ""


def main() -> int:
    """Run a room's tests; 0 when every row is proven."""
    sys.path.insert(0, str(ROOT))
    from tests.reference.rooms import rooms, rows_of

    if len(sys.argv) != 2 or sys.argv[1] not in rooms():
        sys.stderr.write(f"reference: which room? make reference ROOM=ROOM, with ROOM one of {', '.join(rooms())}\n")
        return 2
    rows = rows_of(sys.argv[1])
    outcomes = Outcomes()
    tests = sorted({test for row in rows for test in row.tests})
    # Tests of one module share what it starts.
    options = ["-q", "-n", "2", "--dist", "loadfile", "--no-header", "--rootdir", str(ROOT), "-p", "no:cacheprovider"]
    pytest.main([*options, *(str(ROOT / test) for test in tests)], plugins=[outcomes])
    for row in rows:
        if row.differs:
            sys.stdout.write(f"{row.identifier} differs: {row.differs}\n")
    for row in rows:
        if not row.through_worker:
            sys.stdout.write(f"{row.identifier} not through a worker: {row.apart}\n")
    wrong = {row.identifier: reason for row in rows if (reason := fault(row.tests, outcomes.by_node, row.lacks))}
    for identifier, reason in wrong.items():
        sys.stdout.write(f"{identifier} NOT PROVEN: {reason}\n")
    proven = sum(row.through_worker for row in rows if row.identifier not in wrong)
    sys.stdout.write(f"through a worker: {proven} of {len(rows)} rows\n")
    sys.stdout.write(f"reference: {len(rows) - len(wrong)} of {len(rows)} rows\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
