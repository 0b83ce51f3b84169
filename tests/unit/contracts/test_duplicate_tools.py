"""One tool name in two manifests."""

from pathlib import Path

import pytest

from toolmesh_contracts.config_problems import ConfigError
from toolmesh_contracts.duplicate_tools import check_duplicate_tools
from toolmesh_contracts.manifest import Manifest, load_manifest


def _manifest(folder: Path, tools: str) -> Manifest:
    folder.mkdir()
    path = folder / "manifest.yaml"
    path.write_text(f"version: 1\ntools:\n{tools}")
    return load_manifest(path)


def test_a_name_twice_in_a_pool_names_the_tool_and_both_files(tmp_path: Path) -> None:
    """A person sees which two files to look at, for every such name."""
    first = _manifest(tmp_path / "a", "  one: {executable: a}\n  two: {executable: a}\n  three: {executable: a}\n")
    second = _manifest(tmp_path / "b", "  two: {executable: b}\n  one: {executable: b}\n")

    with pytest.raises(ConfigError) as caught:
        check_duplicate_tools([first, second])

    assert len(caught.value.problems) == 2
    assert "'one'" in str(caught.value)
    assert "'two'" in str(caught.value)
    assert str(first.path) in str(caught.value)
    assert str(second.path) in str(caught.value)


def test_the_same_name_in_different_pools_is_fine(tmp_path: Path) -> None:
    """Pools are apart: the name is unique in each."""
    first = _manifest(tmp_path / "a", "  one: {executable: a}\n")
    second = _manifest(tmp_path / "b", "  one: {executable: b, pool: other}\n")

    check_duplicate_tools([first, second])
