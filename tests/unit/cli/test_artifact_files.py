"""Names of saved files."""

from pathlib import Path

import pytest

from toolmesh_cli.artifact_files import free_path


@pytest.mark.parametrize(
    ("filename", "name"),
    [
        ("report.txt", "report.txt"),
        ("Bericht für Köln.pdf", "Bericht für Köln.pdf"),
        ("../../etc/passwd", "_.._etc_passwd"),
        ("/etc/passwd", "_etc_passwd"),
        (".bashrc", "bashrc"),
        ("..", "artifact"),
        ("", "artifact"),
        ("a\nb\x1b[2J", "a_b__2J"),
        ("x" * 300 + ".txt", "x" * 76 + ".txt"),
    ],
)
def test_a_tools_file_name_becomes_one_plain_name(tmp_path: Path, filename: str, name: str) -> None:
    """No name leaves the folder, hides a file or holds control characters."""
    assert free_path(tmp_path, filename) == tmp_path / name


def test_nothing_is_ever_overwritten(tmp_path: Path) -> None:
    """A name that is taken, even by a dangling link, gets a number."""
    (tmp_path / "a.txt").touch()
    (tmp_path / "a (2).txt").symlink_to(tmp_path / "nowhere")

    assert free_path(tmp_path, "a.txt") == tmp_path / "a (3).txt"
