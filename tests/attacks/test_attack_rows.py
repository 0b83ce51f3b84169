"""Every given attack, as it is written, against the real sandbox of a worker that is root and of one that is not."""

import json
import os
import sys
from pathlib import Path

import pytest
from tests.attacks.bindings import unbound
from tests.attacks.comparison import escaped
from tests.attacks.rows import GIVEN, read_rows, with_code
from tests.attacks.runner import PROFILES, run_as, summary

if not sys.platform.startswith("linux"):
    pytest.skip("the sandbox needs Linux", allow_module_level=True)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("user", ["root", "65532"])
def test_every_attack_is_held(user: str) -> None:
    """Each row under `declared`, those for any profile under all four; a root worker is seen to drop its uid."""
    if user == "root" and os.getuid() != 0:
        pytest.skip("needs root")
    outcomes = run_as(user)
    rows = with_code(read_rows(GIVEN))
    assert {each.id for each in outcomes} == {row["id"] for row in rows}
    assert {each.profile for each in outcomes} == set(PROFILES)
    assert [each for each in outcomes if each.wrong and not each.known_limit] == [], "\n".join(summary(outcomes))
    assert user == "65532" or not any(each.known_limit for each in outcomes)


def test_every_host_row_is_bound_to_a_test() -> None:
    """A row without one counts as not held."""
    assert unbound(read_rows(GIVEN)) == []


def test_a_row_that_is_not_bound_or_not_understood_is_not_skipped(tmp_path: Path) -> None:
    """Other files of this form may hold more; what the runner does not know it refuses."""
    row = {"id": "Z99", "kind": "host", "profile": "any"}
    assert unbound([row]) == ["Z99"]
    file = tmp_path / "rows.jsonl"
    file.write_text(json.dumps({**row, "twice": True}) + "\n")
    with pytest.raises(ValueError, match="Z99"):
        read_rows(file)


@pytest.mark.timeout(120)
@pytest.mark.skipif(os.getuid() != 0, reason="needs root")
@pytest.mark.parametrize(("way", "least"), [("none", 26), ("bare", 12)])
def test_the_attacks_succeed_where_the_sandbox_is_missing(way: str, least: int) -> None:
    """So that holding them means something: with no sandbox, and with a plain bubblewrap, many get through."""
    assert len(escaped(way)) >= least
