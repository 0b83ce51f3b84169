"""Old published trees go when nobody holds them, and never beside a worker."""

import os
import time
from pathlib import Path

import pytest

from toolmesh_sandbox.published import publish_files
from toolmesh_sandbox.published_sweep import KEPT_S, using_published


@pytest.fixture
def base(tmp_path: Path) -> Path:
    (tmp_path / "base").mkdir()
    return tmp_path / "base"


def _published(tmp_path: Path, base: Path, name: str, *, aged: bool) -> Path:
    (tmp_path / name).write_text(name)
    tree = publish_files({name: tmp_path / name}, base, "toolset")
    if aged:
        long_ago = time.time() - KEPT_S - 60
        os.utime(tree, (long_ago, long_ago))
    return tree


def test_a_tree_that_nobody_asked_for_in_a_day_goes(tmp_path: Path, base: Path) -> None:
    """Removed by the next that opens the folder; a younger tree stays, an unfinished one does not."""
    old = _published(tmp_path, base, "old", aged=True)
    young = _published(tmp_path, base, "young", aged=False)
    unfinished = young.parent / ".0123456789abcdef"
    unfinished.mkdir()
    with using_published(base):
        assert not old.exists()
        assert not unfinished.exists()
        assert (young / "young").read_text() == "young"


def test_a_stray_file_stops_nobody(tmp_path: Path, base: Path) -> None:
    """What no publisher made is left alone."""
    old = _published(tmp_path, base, "old", aged=True)
    (base / "published" / "notes~").write_text("x")
    with using_published(base):
        assert not old.exists()
        assert (base / "published" / "notes~").exists()


def test_asking_for_a_tree_keeps_it(tmp_path: Path, base: Path) -> None:
    """A tree that is published again counts as new."""
    _published(tmp_path, base, "used", aged=True)
    used = _published(tmp_path, base, "used", aged=False)
    with using_published(base):
        assert used.exists()


def test_nothing_goes_beside_a_worker(tmp_path: Path, base: Path) -> None:
    """One that runs for weeks still needs the trees that it published at its start."""
    with using_published(base):
        old = _published(tmp_path, base, "old", aged=True)
        with using_published(base):
            assert old.exists()
        assert old.exists()
    with using_published(base):
        assert not old.exists()
