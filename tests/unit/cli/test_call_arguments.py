"""A call's arguments as a person gives them."""

from pathlib import Path

import pytest

from toolmesh_cli.call_arguments import read_arguments
from toolmesh_contracts.errors import ErrorCode, ToolmeshError


def test_arguments_travel_as_they_were_written() -> None:
    """Spaces and number forms are kept: only the tool parses them."""
    assert read_arguments('{ "n": 1.50 }', None) == b'{ "n": 1.50 }'
    assert read_arguments(None, None) == b"{}"


def test_a_file_gives_the_arguments(tmp_path: Path) -> None:
    """What is too long for a command line comes from a file."""
    path = tmp_path / "arguments.json"
    path.write_bytes(b'{"text": "\xc3\xa4"}')

    assert read_arguments(None, str(path)) == b'{"text": "\xc3\xa4"}'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{city: Oslo}", "--args"),
        ("[1, 2]", "no JSON object"),
        ("", "no JSON object"),
        ('{"n": NaN}', "no valid JSON"),
        ('{"n": "\udcff"}', "no valid JSON"),
        ("{" + '"a":{' * 5000, "no valid JSON"),
    ],
)
def test_what_is_no_json_object_is_refused_with_an_example(text: str, said: str) -> None:
    """The message says what is wrong, the hint shows what is right."""
    with pytest.raises(ToolmeshError) as caught:
        read_arguments(text, None)

    assert caught.value.code is ErrorCode.INVALID_ARGUMENTS
    assert said in caught.value.message
    assert "--args '{" in caught.value.hint


def test_a_missing_file_and_two_sources_are_usage_errors(tmp_path: Path) -> None:
    """Both name the option."""
    with pytest.raises(ToolmeshError, match="--args-file"):
        read_arguments(None, str(tmp_path / "absent.json"))
    with pytest.raises(ToolmeshError, match="exclude each other"):
        read_arguments("{}", "-")
