"""Private files appear whole or not at all."""

from pathlib import Path

import pytest

from toolmesh_client.private_file import replace_private_file


def test_a_file_is_replaced_and_private(tmp_path: Path) -> None:
    """Mode 0600 whatever it was, and no draft is left."""
    path = tmp_path / "state.json"
    path.write_text("old")
    path.chmod(0o644)
    replace_private_file(path, b"new")
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_cant_be_replaced_leaves_nothing_behind(tmp_path: Path) -> None:
    """The error is raised and the draft removed."""
    path = tmp_path / "state.json"
    path.mkdir()
    with pytest.raises(OSError, match=r"state\.json"):
        replace_private_file(path, b"new")
    assert list(tmp_path.iterdir()) == [path]
