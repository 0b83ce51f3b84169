"""Results hide the call's own secrets wherever a tool put them, and nothing else."""

import json
from collections.abc import AsyncIterator

from hypothesis import given
from hypothesis import strategies as st

from toolmesh_contracts.envelopes.reply import ErrorInfo, Outcome
from toolmesh_contracts.errors import ErrorCode
from toolmesh_runtime.process.result_envelope import DataObject, ToolReturn
from toolmesh_runtime.process.secret_hiding import (
    redacted,
    redacted_index,
    without,
    without_in_names,
    without_in_stream,
    worth_hiding,
)
from toolmesh_sandbox.outputs import OutputFile

SECRET = 'pa"ss-wörd-123'


def test_secret_is_hidden_in_every_part() -> None:
    """Message, data (keys too), error, notes and log."""
    returned = ToolReturn(
        outcome=Outcome.ERROR,
        message=f"m {SECRET}",
        data=json.dumps({"a": [f"x{SECRET}y"], SECRET: 1, "n": 5}).encode(),
        error=ErrorInfo(code=ErrorCode.TOOL_ERROR, message=f"e {SECRET}", type=SECRET),
        notes=(f"n {SECRET}",),
        log=f"l {SECRET}",
    )
    clean = redacted(returned, (SECRET,))
    assert SECRET not in repr(clean)
    assert b"123" not in (clean.data or b"")
    assert clean.data is not None
    assert json.loads(clean.data)["n"] == 5


def test_what_only_looks_like_a_secret_stays() -> None:
    """A tool may return tokens: that is its result."""
    returned = ToolReturn(
        outcome=Outcome.OK, message="password=hunter2", data=b'{"token": "eyJhbGciOiJFZERTQSJ9.e30.c2ln"}'
    )
    assert redacted(returned, ("other-secret",)) == ToolReturn(
        outcome=Outcome.OK, message="password=hunter2", data=b'{"token":"eyJhbGciOiJFZERTQSJ9.e30.c2ln"}'
    )
    assert redacted(returned, ()) is returned


def test_secret_is_hidden_in_what_a_tool_returns_as_files() -> None:
    """Content, text or binary, name, description, preview and metadata."""
    objects = (
        DataObject(
            f"{SECRET}.txt", f"a {SECRET}".encode(), "text/plain", "inline", True, SECRET, SECRET, {"k": [SECRET]}
        ),
        DataObject("b.bin", b"\x00" + SECRET.encode() + b"\xff", "x/y", "artifact", is_text=False),
        DataObject("file.txt", None, "text/plain", "artifact"),
    )
    clean = redacted(ToolReturn(outcome=Outcome.OK, data_objects=objects), (SECRET,))
    assert SECRET.encode() not in b"".join(item.content or b"" for item in clean.data_objects)
    assert SECRET not in repr(clean)
    assert clean.data_objects[1].content == b"\x00[redacted]\xff"


def test_short_secret_is_hidden_as_a_word_but_not_by_chance_in_what_is_no_text() -> None:
    """In text it stands for itself; a picture that happens to have the same bytes would be spoilt."""
    assert without("pin 42, 421, é42".encode(), ["42"]) == "pin [redacted], 421, é42".encode()
    for binary in (b"\x00 42 ", b"\xff 42 "):
        assert without(binary, ["42", "long-enough"]) == binary
    assert without(b"\x00 long-enough", ["long-enough"]) == b"\x00 [redacted]"


def test_short_value_is_hidden_only_where_the_tool_declares_it_secret() -> None:
    """A variable's `en` is a word of honest texts; also a declared list is looked through, and a missing field passed over."""
    config = {"language": "en", "pins": ["42", 17], "key": "long-enough"}
    assert worth_hiding(("en", "42", "17", "long-enough"), config, {"pins", "absent"}) == ("42", "17", "long-enough")


def test_secret_is_hidden_in_names_of_files_and_in_what_is_said_of_them() -> None:
    """Also as the index spells it; two files that then have one name leave one and a note."""
    files = {name: OutputFile(name, 0, -1) for name in (f"a-{SECRET}.txt", "a-[redacted].txt", "b.txt")}
    clean, notes = without_in_names(files, [f"output file '{SECRET}' was refused"], (SECRET,))
    assert list(clean) == ["a-[redacted].txt", "b.txt"]
    assert clean["a-[redacted].txt"].name == f"a-{SECRET}.txt"
    assert notes == [
        "output file '[redacted]' was refused",
        "output file 'a-[redacted].txt' is there twice, but for secrets in the names; one was kept",
    ]
    index = {f"a-{SECRET}.txt": {"description": SECRET, "metadata": {SECRET: [SECRET, 1]}}}
    assert redacted_index(index, (SECRET,)) == {
        "a-[redacted].txt": {"description": "[redacted]", "metadata": {"[redacted]": ["[redacted]", 1]}}
    }


def test_secret_number_is_hidden_in_data_and_index_too() -> None:
    """As a number it says as much as its text; others, and truth values, stay."""
    index = {"f": {"pin": 12345678, "other": 12.5, "yes": True}}
    assert redacted_index(index, ("12345678",)) == {"f": {"pin": "[redacted]", "other": 12.5, "yes": True}}


@given(st.lists(st.sampled_from([b"42", b" ", b"4", b"2", b"x", b"\xc3\xa9"]), max_size=20))
async def test_short_secret_is_hidden_wherever_a_stream_is_cut(parts: list[bytes]) -> None:
    """What stands before and after it counts, also across a cut."""

    async def chunks() -> AsyncIterator[bytes]:
        for part in parts:
            yield part

    clean = b"".join([chunk async for chunk in without_in_stream(chunks(), ["42"])])
    assert clean == without(b"".join(parts), ["42"])


@given(st.lists(st.binary(max_size=12), max_size=12), st.binary(max_size=30))
async def test_secret_is_hidden_wherever_a_stream_is_cut(cuts: list[bytes], end: bytes) -> None:
    """A file is the same as if it had been redacted whole."""
    parts = [*cuts, b"zeb", b"ra-cro", b"ssing", end]

    async def chunks() -> AsyncIterator[bytes]:
        for part in parts:
            yield part

    clean = b"".join([chunk async for chunk in without_in_stream(chunks(), ["zebra-crossing", "x"])])
    assert clean == b"".join(parts).replace(b"zebra-crossing", b"[redacted]")
