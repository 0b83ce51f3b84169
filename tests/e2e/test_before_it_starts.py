"""What `toolmesh` refuses before anything starts."""

from pathlib import Path

import pytest
from tests.support.mesh_processes import processes_of
from tests.support.running_mesh import run_toolmesh
from tests.support.sample_toolsets import ECHO, write_toolset


@pytest.mark.requirement("tool:twice")
async def test_one_tool_name_in_two_folders_names_both_and_starts_nothing(tmp_path: Path) -> None:
    """Found from the manifests alone: no folder is made, no process runs."""
    first = write_toolset(tmp_path / "one", {"echo": (ECHO, {})})
    second = write_toolset(tmp_path / "two", {"echo": (ECHO, {})})
    data = tmp_path / "data"

    ended = await run_toolmesh("up", "--tools", str(first), "--tools", str(second), "--data", str(data))

    assert ended.code == 2
    assert ended.stdout == ""
    for part in (
        "error [INVALID_CONFIGURATION]",
        "'echo'",
        str(first / "manifest.yaml"),
        str(second / "manifest.yaml"),
    ):
        assert part in ended.stderr
    assert not data.exists()
    assert not processes_of(data)


@pytest.mark.parametrize("command", [["call", "echo"], ["tools", "list"]])
@pytest.mark.requirement("cli:exit-codes")
async def test_without_a_mesh_commands_say_how_to_start_one(tmp_path: Path, command: list[str]) -> None:
    """Exit code 3 and a hint."""
    ended = await run_toolmesh(*command, data_folder=tmp_path / "data")

    assert ended.code == 3
    assert ended.stdout == ""
    assert "error [BROKER_UNREACHABLE]" in ended.stderr
    assert "hint: start it with `toolmesh up --tools FOLDER`" in ended.stderr


@pytest.mark.requirement("tool:mistakes")
async def test_a_manifest_with_a_mistake_names_file_and_line(tmp_path: Path) -> None:
    """A file that can't be used as a whole stops the start."""
    (tmp_path / "manifest.yaml").write_text("version: 1\ntoolz: {}\n")

    ended = await run_toolmesh("up", "--tools", str(tmp_path), "--data", str(tmp_path / "data"))

    assert ended.code == 2
    assert f"{tmp_path / 'manifest.yaml'}:2" in ended.stderr
    assert "did you mean 'tools'?" in ended.stderr
