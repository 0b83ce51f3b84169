"""Hostile trees are removed, whole and in bounded steps."""

import os
from pathlib import Path

import pytest

from toolmesh_sandbox.tree_removal import remove_tree


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "tree").mkdir()
    return tmp_path / "tree"


def test_a_tree_three_thousand_levels_deep_is_removed(tree: Path) -> None:
    """No path gets long and nothing recurses."""
    descriptor = os.open(tree, os.O_RDONLY)
    for _ in range(3000):
        os.mkdir("deep", dir_fd=descriptor)
        os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=descriptor))
        deeper = os.open("deep", os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = deeper
    os.close(descriptor)
    assert remove_tree(tree)
    assert not tree.exists()


def test_links_are_removed_and_never_followed(tree: Path, tmp_path: Path) -> None:
    """What they point to stays, also when it is a folder."""
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/file").write_text("x")
    (tree / "to-folder").symlink_to(tmp_path / "kept")
    (tree / "sub").mkdir()
    (tree / "sub/up").symlink_to("../..")
    os.mkfifo(tree / "fifo")
    assert remove_tree(tree)
    assert (tmp_path / "kept/file").exists()


def test_locked_folders_are_opened_by_their_owner(tree: Path) -> None:
    """Mode 000, one in the other."""
    (tree / "a/b/c").mkdir(parents=True)
    (tree / "a/b/c/file").touch()
    for name in ("a/b/c", "a/b", "a"):
        (tree / name).chmod(0)
    tree.chmod(0)
    assert remove_tree(tree)


def test_many_entries_are_removed_in_batches(tree: Path) -> None:
    """More than one batch, at the top and below."""
    (tree / "sub").mkdir()
    for number in range(1500):
        (tree / str(number)).touch()
        (tree / "sub" / str(number)).mkdir()
    assert remove_tree(tree)


def test_a_link_in_the_place_of_the_tree_is_not_followed(tmp_path: Path) -> None:
    """It is left alone, and that is told."""
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "kept")
    assert not remove_tree(tmp_path / "link")
    assert (tmp_path / "kept/file").exists()


def test_removal_stops_at_its_time_limit(tree: Path) -> None:
    """Something is left, and that is told."""
    (tree / "sub").mkdir()
    assert not remove_tree(tree, within_s=0)
    assert tree.exists()


def test_a_missing_tree_is_no_error(tmp_path: Path) -> None:
    """It is gone, which was the aim."""
    assert remove_tree(tmp_path / "missing")
