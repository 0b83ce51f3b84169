"""Results hide the call's own secrets wherever a tool put them, and nothing else."""

import json
from collections.abc import AsyncIterator

from hypothesis import given
from hypothesis import strategies as st

from toolmesh_contracts.envelopes.reply import ErrorInfo, Outcome
from toolmesh_contracts.errors import ErrorCode
from toolmesh_runtime.process.result_envelope import DataObject, ToolReturn
from toolmesh_runtime.process.secret_hiding import redacted, without_in_stream

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


@given(st.lists(st.binary(max_size=12), max_size=12), st.binary(max_size=30))
async def test_secret_is_hidden_wherever_a_stream_is_cut(cuts: list[bytes], end: bytes) -> None:
    """A file is the same as if it had been redacted whole."""
    parts = [*cuts, b"zeb", b"ra-cro", b"ssing", end]

    async def chunks() -> AsyncIterator[bytes]:
        for part in parts:
            yield part

    clean = b"".join([chunk async for chunk in without_in_stream(chunks(), ["zebra-crossing", "abc"])])
    assert clean == b"".join(parts).replace(b"zebra-crossing", b"[redacted]")
