"""A tool's program is found at the documented places, in the documented order."""

from pathlib import Path

import pytest

from toolmesh_contracts.config_problems import ConfigError
from toolmesh_contracts.manifest import ToolManifest
from toolmesh_runtime.toolsets.locate import ProgramMissingError, find_manifests, find_program


def write(path: Path, text: str = "#!/bin/sh\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def manifest(tool_dir: str = "w", executable: str = "prog", **more: str) -> ToolManifest:
    return ToolManifest.model_validate({"executable": executable, "tool_dir": tool_dir, **more})


@pytest.mark.parametrize(
    "places",
    [
        ["set/w/prog", "set/w/python/bin/prog", "set/w/prog.py", "w/prog", "w/python/bin/prog", "w/prog.py"],
    ],
)
@pytest.mark.requirement("tool:probing")
def test_probing_order(tmp_path: Path, places: list[str]) -> None:
    """Below the manifest's folder before beside it; plain, then python/bin, then with .py."""
    for place in reversed(places):
        write(tmp_path / place)
        found = find_program(tmp_path / "set" / "manifest.yaml", "tool", manifest())
        assert found.folder / found.path == tmp_path / place


def test_program_beside_the_manifest_is_found_without_a_tool_dir(tmp_path: Path) -> None:
    """`tool_dir` defaults to the key; then the manifest's own folder is looked at last."""
    write(tmp_path / "set" / "prog.py")
    found = find_program(tmp_path / "set" / "manifest.yaml", "key", manifest(tool_dir="key"))
    assert found.folder / found.path == tmp_path / "set" / "prog.py"
    with pytest.raises(ProgramMissingError):
        find_program(tmp_path / "set" / "manifest.yaml", "key", manifest(tool_dir="other"))


def test_missing_program_lists_where_it_was_looked_for(tmp_path: Path) -> None:
    """The message names every place, so that nobody has to guess."""
    with pytest.raises(ProgramMissingError) as caught:
        find_program(tmp_path / "set" / "manifest.yaml", "tool", manifest())
    for place in ("set/w/prog", "set/w/python/bin/prog", "w/prog.py"):
        assert str(tmp_path / place) in str(caught.value)


def test_go_program_is_to_be_built_where_its_source_is(tmp_path: Path) -> None:
    """In the folder that is there, and no place is listed twice."""
    (tmp_path / "sum").mkdir()
    tool = manifest(tool_dir="sum", executable="sum", runtime="go")
    with pytest.raises(ProgramMissingError) as caught:
        find_program(tmp_path / "sum" / "manifest.yaml", "sum", tool)
    assert f"go build -o sum . in {tmp_path / 'sum'};" in caught.value.hint
    places = caught.value.message.partition("looked for ")[2].split(", ")
    assert len(places) == len(set(places)) == 6


@pytest.mark.parametrize(
    ("text", "name", "runtime", "is_python"),
    [
        ("#!/usr/bin/env python3\n", "prog", None, True),
        ("#!/builder/venv/bin/python3.12 -u\n", "prog", None, True),
        ("#!/bin/sh\necho python\n", "prog", None, False),
        ("\x7fELF", "prog", None, False),
        ("print(1)\n", "prog.py", None, True),
        ("\x7fELF", "prog", "python", True),
        ("#!/usr/bin/python3\n", "prog", "executable", False),
        ("", "prog", None, False),
    ],
)
def test_python_is_recognised(tmp_path: Path, text: str, name: str, runtime: str | None, is_python: bool) -> None:
    """By the manifest's word, the ending, or a shebang of whatever Python the builder had."""
    write(tmp_path / "set" / "w" / name, text)
    tool = manifest(executable=name, **({"runtime": runtime} if runtime else {}))
    assert find_program(tmp_path / "set" / "manifest.yaml", "tool", tool).is_python is is_python


def test_manifests_are_found_in_all_three_forms(tmp_path: Path) -> None:
    """A manifest, a toolset folder, a folder of toolset folders; each once."""
    one, two = write(tmp_path / "all" / "a" / "manifest.yaml"), write(tmp_path / "all" / "b" / "manifest.yaml")
    assert find_manifests([one, tmp_path / "all" / "a", tmp_path / "all"]) == [one, two]


@pytest.mark.parametrize("name", ["absent", "empty"])
def test_folder_without_a_manifest_is_an_error(tmp_path: Path, name: str) -> None:
    """The error names the folder."""
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigError, match=name):
        find_manifests([tmp_path / name])


def test_link_on_the_way_to_the_tool_is_refused(tmp_path: Path) -> None:
    """A toolset shows its own files, not what it can link to."""
    write(tmp_path / "elsewhere" / "prog.py")
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "a").symlink_to(tmp_path)
    for tool_dir in ("a", "a/elsewhere"):
        with pytest.raises(ProgramMissingError, match="is a link"):
            find_program(tmp_path / "set" / "manifest.yaml", "tool", manifest(tool_dir=tool_dir))
