"""Proves the rows of one room: `python tests/reference/run.py ROOM`.

Runs exactly the tests that the rows name, all in one go. Prints each row that differs on purpose and each that no test
takes through a worker, with their reasons, each row that has no test but a reason that the docs hold, each that has
neither or whose test did not pass, how many of the proven rows a worker proves, and last
`reference: N of M rows (P proven, D documented)`.
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


def untold(lacks: str, page: Path) -> str:
    """Return what is wrong with a row that toolmesh lacks, or nothing if the page holds its reason."""
    held = " ".join(page.read_text(encoding="utf-8").split())
    return "" if lacks in held else f"{page.name} does not say: {lacks}"


def fault(tests: Sequence[str], outcomes: Mapping[str, str]) -> str:
    """Return why a row is not proven, or nothing."""
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
    """Run a room's tests; 0 when every row is proven, or lacks what the docs say that it lacks."""
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
    wrong: dict[str, str] = {}
    documented = 0
    for row in rows:
        reason = untold(row.lacks, ROOT / row.told_in) if row.lacks else fault(row.tests, outcomes.by_node)
        if reason:
            wrong[row.identifier] = reason
            sys.stdout.write(f"{row.identifier} NOT PROVEN: {reason}\n")
        elif row.lacks:
            documented += 1
            sys.stdout.write(f"{row.identifier} documented in {row.told_in}: {row.lacks}\n")
    proven = sum(row.through_worker for row in rows if row.identifier not in wrong)
    sys.stdout.write(f"through a worker: {proven} of {len(rows)} rows\n")
    right = len(rows) - len(wrong)
    sys.stdout.write(f"reference: {right} of {len(rows)} rows ({right - documented} proven, {documented} documented)\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
