"""Results hide the call's own secrets wherever a tool put them, and nothing else."""

import json

from toolmesh_contracts.envelopes.reply import ErrorInfo, Outcome
from toolmesh_contracts.errors import ErrorCode
from toolmesh_runtime.outcome import redacted
from toolmesh_runtime.process.result_envelope import ToolReturn

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
