"""Names of saved files."""

from pathlib import Path

import pytest
from tests.support.running_mesh import run_toolmesh

from toolmesh_cli.artifact_files import free_path, make_writable_folder
from toolmesh_contracts.errors import ToolmeshError


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


def test_a_folder_is_made_and_left_empty(tmp_path: Path) -> None:
    """Trying it leaves nothing behind."""
    folder = tmp_path / "a" / "b"

    make_writable_folder(folder)
    make_writable_folder(folder)

    assert list(folder.iterdir()) == []


def test_what_is_no_folder_is_told_with_its_path(tmp_path: Path) -> None:
    """A file in the way, for example."""
    (tmp_path / "file").touch()

    for wrong in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(ToolmeshError, match=str(wrong)):
            make_writable_folder(wrong)


@pytest.mark.parametrize("command", [("call", "x"), ("result", "x"), ("dead", "requeue", "x"), ("tool", "run", "x")])
async def test_a_wrong_folder_is_found_before_the_call(tmp_path: Path, command: tuple[str, ...]) -> None:
    """Even before it is known whether a mesh runs: a tool must not run for a result that can't be kept."""
    (tmp_path / "file").touch()

    ended = await run_toolmesh(*command, "--save-artifacts", str(tmp_path / "file"), data_folder=tmp_path)

    assert (ended.code, ended.stdout) == (2, "")
    assert "files can't be saved in" in ended.stderr
