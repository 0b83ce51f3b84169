"""What tools say of themselves."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmesh_contracts.errors import ErrorCode
from toolmesh_contracts.tool_description import (
    MAX_DESCRIBED_TOOLS,
    MAX_DESCRIPTION_BYTES,
    ToolDescription,
    ToolDescriptionError,
    parse_tool_descriptions,
)


def describe(**entry: object) -> ToolDescription:
    """Return the description of one tool."""
    return parse_tool_descriptions(json.dumps({"tools": {"t": entry}}).encode()).tools["t"]


def problem(**entry: object) -> str:
    """Return why a tool is left out while its neighbour is not."""
    parsed = parse_tool_descriptions(json.dumps({"tools": {"t": entry, "good": {}}}).encode())
    assert list(parsed.tools) == ["good"]
    return parsed.problems["t"]


def test_a_full_description() -> None:
    """Every part that an SDK writes is read."""
    tool = describe(
        description="Upload a file.",
        parameters={"type": "object", "properties": {"f": {"type": "string"}}, "required": ["f"]},
        artifact_params={"f": {"is_list": False, "is_optional": True, "filename_key": "x"}},
        instructions="Only when asked.",
        auth={"type": "oauth2", "scheme": {"token_url": "https://idp.example.com/t", "scopes": ["a"]}},
        config_schema=[{"key": "bucket", "required": True}, {"key": "api_key", "secret": True, "options": [1, "b"]}],
        timeout_seconds=60,
        volume_params=[{"name": "out", "mount_path": "/work/out", "mode": "readwrite"}],
        raw_string_args=["f"],
        from_the_future={"ignored": True},
    )

    assert tool.artifact_params["f"].is_optional
    assert tool.secret_keys == {"api_key"}
    assert tool.auth is not None
    assert tool.auth.scheme.scopes == ("a",)
    assert tool.volume_params[0].mode == "readwrite"
    assert tool.timeout_seconds == 60
    assert tool.raw_string_args == ("f",)


def test_nothing_is_required() -> None:
    """Nulls and absent keys are the defaults."""
    assert describe(parameters=None, instructions=None, config_schema=None) == ToolDescription()
    assert describe().parameters == {"type": "object", "properties": {}}


@pytest.mark.parametrize(
    "noise", [b"loading {model}...\n", b"{'python': 'dict'}\n", b'{"a": {"tools": 1}}\n', b"\xff\xfe\n", b"{" * 20]
)
def test_noise_around_the_object_is_ignored(noise: bytes) -> None:
    """A tool that prints at import is still understood."""
    assert list(parse_tool_descriptions(noise + b'{"tools": {"t": {}}} bye {').tools) == ["t"]


def test_lone_surrogates_become_replacement_characters() -> None:
    """What has no UTF-8 form can't travel; the rest of the text is kept."""
    assert describe(description="a\ud800b", parameters={"\udc00": "x"}) == ToolDescription(
        description="a\ufffdb", parameters={"\ufffd": "x"}
    )


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({"description": 5}, "description"),
        ({"parameters": []}, "parameters"),
        ({"timeout_seconds": 0}, "timeout_seconds"),
        ({"timeout_seconds": 1e9}, "timeout_seconds"),
        ({"config_schema": [{"type": "string"}]}, "key"),
        ({"config_schema": [{"key": "auth"}]}, "reserved key"),
        ({"volume_params": [{"name": "a", "mount_path": "/a", "mode": "rw"}]}, "mode"),
    ],
)
def test_a_bad_description_leaves_the_others(entry: dict[str, object], reason: str) -> None:
    """One tool's mistake names the tool and the field; the executable's other tools are there."""
    message = problem(**entry)

    assert "tool 't'" in message
    assert reason in message


def test_entries_that_are_no_objects_and_deep_ones_are_left_out() -> None:
    """Neither a text nor 100 levels of nesting is a description."""
    deep: object = 1
    for _ in range(100):
        deep = [deep]
    assert "nested deeper" in problem(parameters={"x": deep})
    assert "should be an object" in parse_tool_descriptions(b'{"tools": {"t": "x", "u": {}}}').problems["t"]
    assert "too large" in parse_tool_descriptions(b'{"tools": {"t": {"parameters": {"x": 1e999}}}}').problems["t"]


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        (b"", "no JSON object"),
        (b"Traceback (most recent call last):", "no JSON object"),
        (b'{"tools": {}}', "holds no tools"),
        (b'{"tools": []}', "has no `tools`"),
        (b'{"tools": {"t": {"x": NaN}}}', "NaN is not JSON"),
        (b'{"tools": ' + b"[" * 100_000, "nested deeper"),
        (b'{"tools": {"t": ' + b"9" * 5000 + b"}}", "no valid JSON"),
        (b" " * (MAX_DESCRIPTION_BYTES + 1), "larger than"),
        (json.dumps({"tools": {f"t{n}": {} for n in range(MAX_DESCRIBED_TOOLS + 1)}}).encode(), "more than"),
    ],
)
def test_unusable_output_is_a_typed_error(output: bytes, reason: str) -> None:
    """The code says that the tool could not be asked; the message says why."""
    with pytest.raises(ToolDescriptionError) as caught:
        parse_tool_descriptions(output)

    assert caught.value.code is ErrorCode.INIT_ERROR
    assert reason in caught.value.message


@given(st.binary(max_size=60))
def test_no_output_makes_the_reader_fail_otherwise(output: bytes) -> None:
    """Whatever a process prints ends as a description or as that error."""
    try:
        assert parse_tool_descriptions(output).tools is not None
    except ToolDescriptionError as error:
        assert error.code is ErrorCode.INIT_ERROR  # noqa: PT017 - either outcome is right
