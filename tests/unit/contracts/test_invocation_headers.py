"""An invocation's headers survive a round trip, and unreadable ones give one clear error."""

import pytest

from toolmesh_contracts import headers
from toolmesh_contracts.errors import MalformedMessageError, UnsupportedSchemaError
from toolmesh_contracts.invocation_headers import InvocationHeaders

GOOD = InvocationHeaders(
    invocation="i-1",
    tool="get_forecast",
    deadline_ms=5,
    required_scopes=("a:b:c", "tools:read"),
    token="t",
    signature="s",
    traceparent="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
)


def test_headers_survive_a_round_trip() -> None:
    """With and without the optional ones."""
    assert InvocationHeaders.parse(GOOD.to_headers()) == GOOD
    bare = InvocationHeaders(invocation="i", tool="t", deadline_ms=0, required_scopes=(), token="", signature="")
    assert InvocationHeaders.parse(bare.to_headers()) == bare


@pytest.mark.parametrize("name", [headers.MESSAGE_ID, headers.TOOL, headers.DEADLINE])
def test_missing_header_is_named(name: str) -> None:
    """The error says which header is missing."""
    values = GOOD.to_headers()
    del values[name]
    with pytest.raises(MalformedMessageError, match=name):
        InvocationHeaders.parse(values)


@pytest.mark.parametrize("deadline", ["-1", "1e9", "", "x", "9" * 16, "1 ", "١"])
def test_unreadable_deadline_is_refused(deadline: str) -> None:
    """Only plain digits are a deadline."""
    with pytest.raises(MalformedMessageError, match=headers.DEADLINE):
        InvocationHeaders.parse(GOOD.to_headers() | {headers.DEADLINE: deadline})


def test_unknown_major_is_refused() -> None:
    """A newer contract is not guessed at."""
    with pytest.raises(UnsupportedSchemaError, match="invocation/2"):
        InvocationHeaders.parse(GOOD.to_headers() | {headers.SCHEMA: "invocation/2"})


def test_secrets_are_not_in_the_repr() -> None:
    """A logged value shows neither token nor signature."""
    shown = repr(
        InvocationHeaders(invocation="i", tool="t", deadline_ms=1, required_scopes=(), token="TOK", signature="SIG")
    )
    assert "TOK" not in shown
    assert "SIG" not in shown
