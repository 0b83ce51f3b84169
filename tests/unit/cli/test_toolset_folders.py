"""What `--tools` means."""

from pathlib import Path

import pytest

from toolmesh_cli.toolset_folders import find_manifests, load_toolsets, split_by_pool
from toolmesh_contracts.errors import ErrorCode, ToolmeshError


def _toolset(folder: Path, name: str = "one") -> Path:
    folder.mkdir(parents=True)
    manifest = folder / "manifest.yaml"
    manifest.write_text(f"version: 1\ntools:\n  {name}: {{executable: x}}\n")
    return manifest


def test_a_toolset_a_manifest_and_a_folder_of_toolsets_are_all_found(tmp_path: Path) -> None:
    """Each form gives manifests, and one that is named twice counts once."""
    first, second = _toolset(tmp_path / "many" / "a"), _toolset(tmp_path / "many" / "b")
    (tmp_path / "many" / "notes").mkdir()

    assert find_manifests([first.parent]) == (first,)
    assert find_manifests([first]) == (first,)
    assert find_manifests([tmp_path / "many", first.parent]) == (first, second)


def test_a_folder_without_a_manifest_is_an_error_that_names_it(tmp_path: Path) -> None:
    """Neither an empty folder nor one that is not there is silently skipped."""
    for place in (tmp_path, tmp_path / "absent"):
        with pytest.raises(ToolmeshError, match=str(place)) as caught:
            find_manifests([place])
        assert caught.value.code is ErrorCode.INVALID_CONFIGURATION
        assert "manifest.yaml" in caught.value.hint


def test_one_name_in_two_manifests_names_both_files(tmp_path: Path) -> None:
    """Found before anything starts."""
    first, second = _toolset(tmp_path / "a"), _toolset(tmp_path / "b")

    with pytest.raises(ToolmeshError) as caught:
        load_toolsets([tmp_path])

    for part in ("'one'", str(first), str(second)):
        assert part in str(caught.value)


def test_tools_of_other_pools_are_told_apart(tmp_path: Path) -> None:
    """A mesh that would serve nothing does not start; one that leaves some out can say which."""
    (tmp_path / "manifest.yaml").write_text("tools:\n  here: {executable: x, pool: web}\n  there: {executable: x}\n")
    manifests = load_toolsets([tmp_path])

    assert split_by_pool(manifests, "web") == (["here"], ["there"])
    with pytest.raises(ToolmeshError, match="no tool is for pool 'third'"):
        split_by_pool(manifests, "third")
