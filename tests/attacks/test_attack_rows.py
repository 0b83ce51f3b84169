"""Every given attack, as it is written, against the real sandbox of a worker that is root and of one that is not."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.attacks.bindings import unbound
from tests.attacks.comparison import escaped
from tests.attacks.row_tools import PROFILES
from tests.attacks.rows import GIVEN, read_rows, with_code
from tests.attacks.runner import Outcome, summary
from tests.support.python_commands import ROOT, module_command, open_to_all

if not sys.platform.startswith("linux"):
    pytest.skip("the sandbox needs Linux", allow_module_level=True)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("user", ["root", "65532"])
def test_every_attack_is_held(user: str) -> None:
    """Each row under `declared`, those for any profile under all four, through a worker; one of root's drops its uid."""
    if os.getuid() != 0 and user == "root":
        pytest.skip("needs root")
    if os.getuid() == 0 and user != "root" and not open_to_all(ROOT):
        pytest.skip("no other user can enter this checkout")
    command = module_command("tests.attacks.runner", "--json", *(["--as", user] if os.getuid() == 0 else []))
    ran = subprocess.run(command, stdout=subprocess.PIPE, timeout=590, check=False)
    outcomes = [Outcome(**fields) for fields in json.loads(ran.stdout)]
    rows = with_code(read_rows(GIVEN))
    assert {each.id for each in outcomes} == {row["id"] for row in rows}
    assert {each.profile for each in outcomes} == set(PROFILES)
    assert [each for each in outcomes if each.wrong and not each.known_limit] == [], "\n".join(summary(outcomes))
    assert {each.id for each in outcomes if each.known_limit} <= ({"A25"} if user == "root" else {"A25", "E14"})
    seen = {uid for each in outcomes for uid in each.uids}
    if user == "root":
        assert len(seen) > 1
        assert 0 not in seen
    else:
        assert seen == {int(user) if os.getuid() == 0 else os.getuid()}


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
