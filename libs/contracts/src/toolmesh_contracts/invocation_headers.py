"""The headers of an invocation: all that a worker needs to decide whether to read the body."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Self

from toolmesh_contracts import headers
from toolmesh_contracts.envelopes.invocation import Invocation
from toolmesh_contracts.errors import MalformedMessageError, UnsupportedSchemaError
from toolmesh_contracts.wire import schema_name

__all__ = ["InvocationHeaders"]

_DEADLINE = re.compile(r"[0-9]{1,15}")
_SCHEMA: Final = schema_name(Invocation)


@dataclass(frozen=True, slots=True, kw_only=True)
class InvocationHeaders:
    """What travels beside the body. Tool, deadline and scopes repeat the body's; the signature covers them all."""

    invocation: str
    tool: str
    deadline_ms: int
    """Unix time in milliseconds."""
    required_scopes: tuple[str, ...]
    token: str = field(repr=False)
    signature: str = field(repr=False)
    traceparent: str = ""

    def to_headers(self) -> dict[str, str]:
        """Return the message's headers, but for `Nats-TTL`, which the broker library adds."""
        values = {
            headers.MESSAGE_ID: self.invocation,
            headers.SCHEMA: _SCHEMA,
            headers.TOOL: self.tool,
            headers.DEADLINE: str(self.deadline_ms),
            headers.REQUIRED_SCOPES: " ".join(self.required_scopes),
            headers.TOKEN: self.token,
            headers.SIGNATURE: self.signature,
            headers.TRACEPARENT: self.traceparent,
        }
        return {name: value for name, value in values.items() if value}

    @classmethod
    def parse(cls, values: Mapping[str, str]) -> Self:
        """Read a message's headers.

        Raises:
            UnsupportedSchemaError: the body is no invocation of a known major.
            MalformedMessageError: a header is missing or unreadable.
        """
        schema = values.get(headers.SCHEMA, "")
        if schema != _SCHEMA:
            raise UnsupportedSchemaError(f"message has schema {schema[:80]!r}, expected {_SCHEMA!r}")
        deadline = values.get(headers.DEADLINE, "")
        if not _DEADLINE.fullmatch(deadline):
            raise MalformedMessageError(f"header {headers.DEADLINE} is {deadline[:40]!r}, no Unix time in milliseconds")
        required = {name: values.get(name, "") for name in (headers.MESSAGE_ID, headers.TOOL)}
        if missing := [name for name, value in required.items() if not value]:
            raise MalformedMessageError(f"header {missing[0]} is missing")
        return cls(
            invocation=required[headers.MESSAGE_ID],
            tool=required[headers.TOOL],
            deadline_ms=int(deadline),
            required_scopes=tuple(values.get(headers.REQUIRED_SCOPES, "").split()),
            token=values.get(headers.TOKEN, ""),
            signature=values.get(headers.SIGNATURE, ""),
            traceparent=values.get(headers.TRACEPARENT, ""),
        )
