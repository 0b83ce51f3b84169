"""Reads and writes every message of the wire contract.

Unknown fields are ignored, so that a newer peer may add some; an unknown schema name or major is refused.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, TypeVar

import msgspec

from toolmesh_contracts.envelopes.catalog import CatalogEntry, DescribeReply, DescribeRequest, Heartbeat
from toolmesh_contracts.envelopes.invocation import Cancel, DirectReply, Invocation
from toolmesh_contracts.envelopes.ledger import LedgerEntry
from toolmesh_contracts.envelopes.reply import Confirmation, Result, Status
from toolmesh_contracts.envelopes.services import MintReply, MintRequest, ModelReply, ModelRequest
from toolmesh_contracts.envelopes.task import DeadLetter, Schedule, Task, TaskEvent
from toolmesh_contracts.errors import MalformedMessageError, UnsupportedSchemaError

__all__ = ["MESSAGES", "check_json_object", "decode", "encode", "schema_name"]

MESSAGES: Final[Mapping[str, type[msgspec.Struct]]] = MappingProxyType(
    {
        "cancel/1": Cancel,
        "catalog-entry/1": CatalogEntry,
        "confirmation/1": Confirmation,
        "dead-letter/1": DeadLetter,
        "describe-reply/1": DescribeReply,
        "describe-request/1": DescribeRequest,
        "direct-reply/1": DirectReply,
        "heartbeat/1": Heartbeat,
        "invocation/1": Invocation,
        "ledger-entry/1": LedgerEntry,
        "mint-reply/1": MintReply,
        "mint-request/1": MintRequest,
        "model-reply/1": ModelReply,
        "model-request/1": ModelRequest,
        "result/1": Result,
        "schedule/1": Schedule,
        "status/1": Status,
        "task/1": Task,
        "task-event/1": TaskEvent,
    }
)
"""Every message by schema name and major, as in the header `Tm-Schema`."""

_NAMES: Final[Mapping[type[msgspec.Struct], str]] = MappingProxyType({kind: name for name, kind in MESSAGES.items()})
_ENCODER: Final = msgspec.json.Encoder()
_DECODERS: Final[Mapping[type[msgspec.Struct], msgspec.json.Decoder[msgspec.Struct]]] = MappingProxyType(
    {kind: msgspec.json.Decoder(kind) for kind in MESSAGES.values()}
)
_ESCAPES: Final = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<lone>\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\."
)
"""A whole surrogate pair, half of one, or any other escape of a JSON text."""

M = TypeVar("M", bound=msgspec.Struct)


def schema_name(kind: type[msgspec.Struct]) -> str:
    """Return a message type's schema name and major, such as `invocation/1`."""
    return _NAMES[kind]


def encode(message: msgspec.Struct) -> bytes:
    """Return the message's JSON."""
    return _ENCODER.encode(message)


def decode(kind: type[M], data: bytes, schema: str | None = None) -> M:
    """Read a message.

    Args:
        kind: The expected type.
        data: The message's body.
        schema: Value of the header `Tm-Schema`; None where the place alone says what it is (KV values).

    Raises:
        UnsupportedSchemaError: `schema` is another name or major than `kind`'s.
        MalformedMessageError: `data` is no valid JSON, or a field is missing or of the wrong type or range.
    """
    expected = _NAMES[kind]
    if schema is not None and schema != expected:
        raise UnsupportedSchemaError(
            f"message has schema {schema[:80]!r}, expected {expected!r}",
            hint="run the same major version of toolmesh on both sides",
        )
    try:
        message = _DECODERS[kind].decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise MalformedMessageError(f"no valid {expected} message: {error}") from error
    assert isinstance(message, kind)  # noqa: S101 - the decoder's own promise, said to the type checker
    return message


def check_json_object(data: bytes, what: str) -> msgspec.Raw:
    """Return `data` as raw JSON after a syntax check that builds no values.

    The nesting is bounded by the interpreter's recursion limit.

    Raises:
        MalformedMessageError: not UTF-8, not JSON (NaN and Infinity included), or no object.
    """
    if not data.lstrip(b" \t\r\n").startswith(b"{"):
        raise MalformedMessageError(f"{what} is no JSON object", hint="send an object such as {}")
    try:
        data.decode()
        msgspec.json.decode(data, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise MalformedMessageError(f"{what} is no valid JSON: {_lone_surrogate(data) or error}") from error
    return msgspec.Raw(data)


def _lone_surrogate(data: bytes) -> str:
    r"""Say where an escape such as `\ud800` stands alone: JSON's parser only tells of what follows it."""
    lone = next((match for match in _ESCAPES.finditer(data) if match["lone"]), None)
    if lone is None:
        return ""
    return f"{lone['lone'].decode()} at byte {lone.start()} is a lone surrogate, which is no character"
