"""What the documentation says of the sandbox is what the code does: the same numbers, promises, levels and lacks."""

import re
from pathlib import Path

import pytest

from toolmesh_sandbox import diagnosis, proof
from toolmesh_sandbox.ladder import Level
from toolmesh_sandbox.probe_program import _PROMISES
from toolmesh_sandbox.profiles import TABLE, Row

_DOCS = Path(__file__).parents[3] / "docs"
_ROWS = {
    "cpu_seconds": "CPU seconds of a process",
    "file_mib": "largest file, MiB",
    "open_files": "open files",
    "processes": "processes",
    "stack_mib": "stack, MiB",
    "locked_kib": "locked memory, KiB",
    "queue_bytes": "message queues, bytes",
    "memory_mib": "memory of the sandbox, MiB",
    "data_mib": "data of a process, MiB",
    "disk_mib": "workspace in memory, outbox and `/tmp`, MiB each",
    "shared_mib": "shared memory in `/dev/shm`, MiB",
    "disk_files": "files in a workspace, an outbox in memory, `/tmp` and `/dev/shm`, each",
    "workspace_mib": "added to a workspace, MiB",
    "nice": "niceness",
}


def tables(page: str) -> dict[str, list[str]]:
    """First cell of every table row of a page to its other cells."""
    lines = (_DOCS / page).read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return {row[0]: row[1:] for row in rows}


@pytest.mark.parametrize("field", Row._fields)
def test_the_numbers_of_the_profiles_are_the_documented_ones(field: str) -> None:
    """Every number of every profile."""
    page = tables("security.md")
    names = [name.strip("`") for name in page[""]]
    assert set(names) == set(TABLE)
    assert page[_ROWS[field]] == [str(getattr(TABLE[name], field)) for name in names]


def test_every_promise_of_the_self_test_is_documented_and_no_other() -> None:
    """The table's first column, by mode."""
    page = tables("sandbox.md")
    promises = {name for name, cells in page.items() if len(cells) == 4 and name not in {"Promise", "---"}}
    assert promises == {*_PROMISES, "memory", "number of files", "wall clock"}


def test_every_level_is_documented() -> None:
    """Number and name."""
    page = tables("sandbox.md")
    assert {int(name): cells[0] for name, cells in page.items() if re.fullmatch("[0-9]", name)} == {
        int(level): level.name for level in Level
    }


def test_every_lack_that_the_self_test_can_name_has_a_remedy() -> None:
    """In the self-test's own words."""
    named = {lack.missing for lack in diagnosis._LACKS} | set(proof._MISSING.values())
    assert named - set(tables("sandbox.md")) == set()
