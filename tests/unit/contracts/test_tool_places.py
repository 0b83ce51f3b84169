"""Which places hold toolsets, and which are agent folders."""

from pathlib import Path

from toolmesh_contracts.tool_places import sort_places


def test_places_are_told_apart_by_their_files(tmp_path: Path) -> None:
    """An agent folder, a folder of them, a toolset folder, one that is both, and one that holds both."""
    for name in ("agent", "both", "mixed/agent", "agents/one", "agents/two"):
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
        (tmp_path / name / "vessel.toml").touch()
    for name in ("toolset", "both", "mixed/toolset"):
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
        (tmp_path / name / "manifest.yaml").touch()
    given = ["agent", "toolset", "both", "mixed", "agents", "missing"]

    places = sort_places([tmp_path / name for name in given])

    found = ["agent", "both", "mixed/agent", "agents/one", "agents/two"]
    assert places.agents == tuple(tmp_path / name for name in found)
    assert places.toolsets == tuple(tmp_path / name for name in ("toolset", "both", "mixed", "missing"))
