"""What `toolmesh tool init` writes and refuses."""

import re
from pathlib import Path

import pytest

from toolmesh_cli.tool_init import write_scaffold
from toolmesh_contracts.errors import ToolmeshError
from toolmesh_contracts.manifest import load_manifest
from toolmesh_contracts.vessel import load_vessel


@pytest.mark.parametrize("name", ["greet", "two-words", "class", "Match"])
@pytest.mark.parametrize(
    ("style", "language", "files"),
    [
        ("function", "python", ["@.py", "manifest.yaml"]),
        ("provider", "python", ["@.py", "manifest.yaml"]),
        ("function", "go", ["go.mod", "main.go", "manifest.yaml"]),
    ],
)
def test_a_scaffold_is_a_sound_manifest_and_a_program(
    tmp_path: Path, name: str, style: str, language: str, files: list[str]
) -> None:
    """Also for names that Python can't spell; nothing of the template is left."""
    written = write_scaffold(tmp_path / "deep" / name, style, language)

    assert sorted(path.name for path in written) == sorted(file.replace("@", name) for file in files)
    manifest = load_manifest(tmp_path / "deep" / name / "manifest.yaml")
    assert manifest.problems == ()
    assert len(manifest.tools) == (2 if style == "provider" else 1)
    for path in written:
        text = path.read_text()
        assert "@name@" not in text
        assert "@identifier@" not in text
        if path.suffix == ".py":
            compile(text, str(path), "exec")


@pytest.mark.parametrize(
    ("name", "style", "language", "said"),
    [
        ("1st", "function", "python", "tool name '1st' is not allowed"),
        ("a b", "function", "python", "is not allowed"),
        ("web_request", "function", "python", "built-in tool"),
        ("peer_x", "function", "python", "other agents"),
        ("json", "function", "python", "would hide the module 'json'"),
        ("types", "provider", "python", "would hide the module 'types'"),
        ("types", "declared", "python", "would hide the module 'types'"),
        ("fine", "novel", "python", "--style 'novel' is not known"),
        ("two-words", "declared", "python", "declared tool name 'two-words' is not allowed"),
        ("read_file", "declared", "python", "built-in tool"),
        ("fine", "declared", "go", "there is no declared in go"),
        ("fine", "function", "rust", "--lang 'rust' is not known"),
        ("fine", "provider", "go", "there is no provider in go"),
    ],
)
def test_a_name_or_choice_that_cannot_be_is_refused_and_nothing_written(
    tmp_path: Path, name: str, style: str, language: str, said: str
) -> None:
    """The message names it and the hint says what to do."""
    with pytest.raises(ToolmeshError, match=said) as caught:
        write_scaffold(tmp_path / name, style, language)
    assert caught.value.hint
    assert list(tmp_path.iterdir()) == []


def test_what_is_there_is_never_touched(tmp_path: Path) -> None:
    """A folder with something in it and a file are refused; an empty folder is taken."""
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    (tmp_path / "empty").mkdir()
    for name in ("full", "file"):
        with pytest.raises(ToolmeshError, match="is there and"):
            write_scaffold(tmp_path / name, "function", "python")
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["notes.txt"]
    assert len(write_scaffold(tmp_path / "empty", "function", "python")) == 2


def test_the_page_shows_what_is_written(tmp_path: Path) -> None:
    """docs/writing-tools.md prints the scaffold of its first command, but for comments."""
    page = (Path(__file__).parents[3] / "docs" / "writing-tools.md").read_text()
    for path in write_scaffold(tmp_path / "greet", "function", "python"):
        shown = page.partition(f"# tools/greet/{path.name}\n")[2].partition("```")[0].strip()
        text = path.read_text() if path.suffix == ".py" else re.sub(r" *#.*", "", path.read_text())
        assert text.partition('"""\n\n')[2].strip() == shown if path.suffix == ".py" else text.strip() == shown


def test_a_declared_scaffold_is_a_sound_agent_folder(tmp_path: Path) -> None:
    """One tool, whose program compiles."""
    write_scaffold(tmp_path / "greeter", "declared", "python")

    vessel = load_vessel(tmp_path / "greeter")
    assert (list(vessel.tools), vessel.problems) == (["greeter"], ())
    program = tmp_path / "greeter" / "tools" / "greeter.py"
    compile(program.read_text(), str(program), "exec")
