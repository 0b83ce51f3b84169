"""The headers of an invocation: all that a worker needs to decide whether to read the body."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Self
from urllib.parse import quote, unquote

from toolmesh_contracts import headers
from toolmesh_contracts.envelopes.invocation import Invocation
from toolmesh_contracts.errors import MalformedMessageError, UnsupportedSchemaError
from toolmesh_contracts.wire import schema_name

__all__ = ["InvocationHeaders"]

_DEADLINE = re.compile(r"[0-9]{1,15}")
INVOCATION: Final = schema_name(Invocation)


@dataclass(frozen=True, slots=True, kw_only=True)
class InvocationHeaders:
    """What travels beside the body, which repeats tool, deadline, scopes and agent; the signature covers them all."""

    invocation: str
    tool: str
    deadline_ms: int
    """Unix time in milliseconds."""
    required_scopes: tuple[str, ...]
    token: str = field(repr=False)
    signature: str = field(repr=False)
    traceparent: str = ""
    agent: str = ""
    """Empty for a call that no agent makes."""

    def to_headers(self, schema: str = INVOCATION) -> dict[str, str]:
        """Return the headers of a call, but for `Nats-TTL`, which the broker library adds; or of a request about it."""
        values = {
            headers.MESSAGE_ID: self.invocation,
            headers.SCHEMA: schema,
            headers.TOOL: self.tool,
            headers.DEADLINE: str(self.deadline_ms),
            headers.REQUIRED_SCOPES: " ".join(self.required_scopes),
            headers.AGENT: quote(self.agent, safe=""),
            headers.TOKEN: self.token,
            headers.SIGNATURE: self.signature,
            headers.TRACEPARENT: self.traceparent,
        }
        return {name: value for name, value in values.items() if value}

    @classmethod
    def parse(cls, values: Mapping[str, str], expected: str = INVOCATION) -> Self:
        """Read the headers of a call, or of a request about it.

        Raises:
            UnsupportedSchemaError: the body is not of the expected schema.
            MalformedMessageError: a header is missing or unreadable.
        """
        schema = values.get(headers.SCHEMA, "")
        if schema != expected:
            raise UnsupportedSchemaError(f"message has schema {schema[:80]!r}, expected {expected!r}")
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
            agent=unquote(values.get(headers.AGENT, "")),
        )
