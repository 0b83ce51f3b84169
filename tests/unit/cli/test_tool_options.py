"""What `tool run` makes of `--config` and `--artifact`."""

import json
import os
import socket
from pathlib import Path

import pytest

from toolmesh_cli.exit_codes import USAGE, exit_code_of
from toolmesh_cli.tool_artifacts import bind_artifacts
from toolmesh_cli.tool_settings import Settings, read_settings
from toolmesh_contracts.envelopes.catalog import ArtifactParameter
from toolmesh_contracts.errors import ToolmeshError

PARAMETERS = {
    "doc": ArtifactParameter(),
    "docs": ArtifactParameter(is_list=True),
    "rows": ArtifactParameter(is_list=True, filename_key="file"),
}


def test_files_are_bound_and_their_names_filled_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One, a list, and a list of objects; an argument that is given stays."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").mkdir()
    for name in ("a/one.txt", "two.txt", "x=y.txt", "r.csv"):
        (tmp_path / name).touch()
    given = ["doc=a/one.txt", "docs=two.txt", "docs=x=y.txt", "rows=r.csv"]
    arguments, files = bind_artifacts(given, PARAMETERS, b'{"n": 1, "doc": "named.txt"}')

    assert json.loads(arguments) == {
        "n": 1,
        "doc": "named.txt",
        "docs": ["two.txt", "x=y.txt"],
        "rows": [{"file": "r.csv"}],
    }
    assert files == {
        "doc": Path("a/one.txt"),
        "docs[0]": Path("two.txt"),
        "docs[1]": Path("x=y.txt"),
        "rows[0]": Path("r.csv"),
    }


def test_without_files_the_arguments_stay_as_they_were_written() -> None:
    """Byte for byte: the tool's side judges them."""
    assert bind_artifacts([], PARAMETERS, b'{"n":  1}') == (b'{"n":  1}', {})


def test_other_arguments_travel_as_they_were_written(tmp_path: Path) -> None:
    """A number beyond what Python reads as one is the tool's to judge, and not changed on the way."""
    (tmp_path / "a").touch()
    numbers = b'{"large":1e999,"exact":0.10000000000000000001,"long":' + b"1" * 5000 + b"}"
    arguments, _ = bind_artifacts([f"doc={tmp_path}/a"], PARAMETERS, numbers)
    assert arguments == numbers[:-1] + b',"doc":"a"}'


def test_name_that_is_no_text_is_one_in_the_arguments(tmp_path: Path) -> None:
    """Such names exist on every Linux disk, and no message could carry them."""
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.txt"))
    path.touch()
    arguments, files = bind_artifacts([f"doc={path}"], PARAMETERS, b"{}")
    assert json.loads(arguments) == {"doc": "caf\ufffd.txt"}
    assert files == {"doc": path}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["doc"], "has no `=`"),
        (["doc="], "has no file after `=`"),
        (["=a"], "has no parameter before `=`"),
        (["="], "has no parameter before `=`"),
        (["doc=-"], "can't read --artifact doc=-: No such file"),
        (["doc=socket"], "can't read --artifact doc=socket: "),
        (["doc=loop"], "can't read --artifact doc=loop: "),
        (["doc=" + "n" * 300], "File name too long"),
        (["city=a.txt"], "takes no file there"),
        (["doc=a", "doc=b"], "is given 2 times"),
        (["doc=a", "docs=missing.txt"], "can't read --artifact docs=missing.txt: No such file"),
        (["doc=."], "--artifact doc=.: "),
        (["doc=/dev/null"], "that is no plain file"),
        (["doc=fifo"], "that is no plain file"),
    ],
)
def test_files_that_have_no_place_are_refused(
    given: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each with what would do, and as a mistake of the command line."""
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        (tmp_path / name).touch()
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "loop").symlink_to("loop")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
    with pytest.raises(ToolmeshError, match=said) as caught:
        bind_artifacts(given, PARAMETERS, b"{}")
    assert caught.value.hint
    assert exit_code_of(caught.value.code) == USAGE


def test_settings_come_from_a_text_or_a_file(tmp_path: Path) -> None:
    """JSON on the line; JSON or YAML in a file."""
    (tmp_path / "c.json").write_text('{"units": "celsius"}')
    (tmp_path / "c.yaml").write_text("units: celsius\n")
    expected = Settings({"units": "celsius"})

    assert read_settings(None, {}) is None
    assert read_settings(' {"units": "celsius"}', {}) == expected
    assert read_settings(str(tmp_path / "c.json"), {}) == expected
    assert read_settings(str(tmp_path / "c.yaml"), {}) == expected


def test_variables_are_filled_in_as_in_an_agents_file(tmp_path: Path) -> None:
    """Both ways; what came from a variable is secret, and an unquoted number is one."""
    (tmp_path / "c.yaml").write_text("key: ${KEY}\nport: ${PORT, 80}\nnested: [{deep: 'x-${KEY}'}]\n")
    environment = {"KEY": "abcdef", "PORT": "8080"}
    filled = read_settings(str(tmp_path / "c.yaml"), environment)
    assert filled is not None
    assert filled.values == {"key": "abcdef", "port": 8080, "nested": [{"deep": "x-abcdef"}]}
    assert set(filled.secrets) == {"abcdef", "8080", "x-abcdef"}
    assert read_settings('{"key": "${KEY}"}', environment) == Settings({"key": "abcdef"}, ("abcdef",))


def test_every_variable_that_is_not_set_is_named() -> None:
    """At once, so that nobody sets them one after another."""
    with pytest.raises(ToolmeshError, match=r"(?s)FIRST.*SECOND"):
        read_settings('{"a": "${FIRST}", "b": ["${SECOND}"]}', {})


@pytest.mark.parametrize("text", ["{units}", "{", "nothing-there.json", "list.yaml", '{"a": NaN}', '{"a":' * 100])
def test_settings_that_are_none_are_refused(tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a broken text nor a missing file nor a list."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "list.yaml").write_text("- 1\n")
    with pytest.raises(ToolmeshError):
        read_settings(text, {})
