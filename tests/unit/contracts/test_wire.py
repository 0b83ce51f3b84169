"""The wire contract: every message survives a round trip, and bad bytes give one clear error."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmesh_contracts.envelopes.examples import EXAMPLES
from toolmesh_contracts.envelopes.invocation import Invocation
from toolmesh_contracts.envelopes.reply import Status
from toolmesh_contracts.errors import ErrorCode, MalformedMessageError, UnsupportedSchemaError
from toolmesh_contracts.wire import MESSAGES, check_json_object, decode, encode, schema_name


def test_every_message_has_an_example() -> None:
    """A message without an example would have no documented form."""
    assert set(EXAMPLES) == set(MESSAGES)


@pytest.mark.parametrize("name", sorted(MESSAGES))
def test_message_survives_a_round_trip(name: str) -> None:
    """Encoding and decoding gives the same message, under the schema name of its type."""
    message = EXAMPLES[name]
    assert schema_name(type(message)) == name
    data = encode(message)
    # Raw fields compare by buffer; the bytes are the message.
    assert encode(decode(type(message), data, name)) == data


@pytest.mark.parametrize("name", sorted(MESSAGES))
@pytest.mark.requirement("broker:unknown-major")
def test_unknown_fields_are_ignored(name: str) -> None:
    """A newer peer may add a field."""
    document = msgspec.json.decode(encode(EXAMPLES[name]))
    document["a_field_of_the_future"] = {"x": 1}
    decode(MESSAGES[name], msgspec.json.encode(document), name)


@pytest.mark.parametrize("schema", ["invocation/2", "status/1", "", "invocation/1 ", "x" * 10_000])
@pytest.mark.requirement("broker:unknown-major")
def test_other_schema_is_refused(schema: str) -> None:
    """Unknown names and majors are refused before the body is read, with a bounded message."""
    with pytest.raises(UnsupportedSchemaError) as caught:
        decode(Invocation, encode(EXAMPLES["invocation/1"]), schema)
    assert caught.value.code is ErrorCode.UNSUPPORTED_SCHEMA
    assert len(str(caught.value)) < 300


@given(st.binary(max_size=200))
def test_random_bytes_are_refused(data: bytes) -> None:
    """No bytes crash the reader."""
    with pytest.raises(MalformedMessageError):
        decode(Status, data)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("attempt", 0),
        ("seq", -1),
        ("state", "asleep"),
        ("invocation", "a b"),
        ("invocation", ""),
        ("invocation", "a\n"),
        ("at_ms", "now"),
        ("worker", "x.y"),
    ],
)
def test_wrong_field_is_named(field: str, value: object) -> None:
    """The error says which field is wrong."""
    document = msgspec.json.decode(encode(EXAMPLES["status/1"]))
    document[field] = value
    with pytest.raises(MalformedMessageError, match=field):
        decode(Status, msgspec.json.encode(document))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"null",
        b"{",
        b'{"a":NaN}',
        b'{"a":Infinity}',
        b'{"a":"\xff"}',
        b'{"a":01}',
        b'{"a":"\\x"}',
        b'{"a":1}{',
        b"\xef\xbb\xbf{}",
        b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    ],
)
def test_arguments_that_are_no_json_object_are_refused(data: bytes) -> None:
    """Arguments stay raw, but broken, non-finite, wrongly encoded or too deep ones go no further."""
    with pytest.raises(MalformedMessageError, match="arguments"):
        check_json_object(data, "arguments")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (r'{"city":"\ud800"}', r"\ud800 at byte 9 is a lone surrogate"),
        (r'{"city":"\uDC00 and more"}', r"\uDC00 at byte 9 is a lone surrogate"),
        (r'{"city":"\\\ud83d\ude00 \ud83d"}', r"\ud83d at byte 24 is a lone surrogate"),
        (r'{"city":"\\ud800', "truncated"),
    ],
)
def test_half_of_a_surrogate_pair_is_told_as_that(text: str, said: str) -> None:
    """And not as the parser's surprise about what follows; an escaped backslash begins no escape."""
    with pytest.raises(MalformedMessageError) as caught:
        check_json_object(text.encode(), "arguments")

    assert said in caught.value.message


def test_arguments_stay_as_they_were_sent() -> None:
    """The check changes no byte: key order, spacing and number forms are the caller's."""
    data = b' {"b": 1.0e2, "a": "\\u00e6"}'
    assert bytes(check_json_object(data, "arguments")) == data
