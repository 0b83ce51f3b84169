"""Calls as a real executor signs them, and as a queue hands them out."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from toolmesh_contracts.envelopes.invocation import Invocation
from toolmesh_contracts.envelopes.values import Caller
from toolmesh_contracts.ids import new_invocation_id
from toolmesh_contracts.invocation_headers import InvocationHeaders
from toolmesh_contracts.wire import encode
from toolmesh_identity.development import DevelopmentIssuer
from toolmesh_identity.signatures import CallFields, sign_call


@dataclass
class Delivered:
    """A message as the queue hands it out; it notes how it was settled."""

    headers: Mapping[str, str]
    body: bytes
    subject: str = "tm.test.invoke.default.normal.1.t"
    stream: str = "S"
    sequence: int = 1
    delivered: int = 1
    settled: list[str] = field(default_factory=list)

    async def ack(self) -> None:
        """Note it."""
        self.settled.append("ack")

    async def nak(self, delay_s: float = 0.0) -> None:
        """Note it."""
        self.settled.append("nak")

    async def term(self, reason: str) -> None:
        """Note it."""
        self.settled.append("term")

    async def in_progress(self) -> None:
        """Note it."""
        self.settled.append("in progress")


def invocation(**changes: object) -> Invocation:
    """A call of tool `t` in pool `default`."""
    base = Invocation(
        id=new_invocation_id(),
        tool="t",
        exposed_name="shown",
        pool="default",
        executor="e",
        caller=Caller(user="ada", agent="a"),
        deadline_ms=int((time.time() + 60) * 1000),
        arguments=msgspec.Raw(b"{}"),
        required_scopes=("x:y:z",),
    )
    return msgspec.structs.replace(base, **changes)


def message(
    issuer: DevelopmentIssuer,
    call: Invocation,
    *,
    scopes: tuple[str, ...] = ("x:y:z",),
    user: str = "ada",
    audience: str = "test",
) -> Delivered:
    """Sign a call as its executor does."""
    token = issuer.token(user, scopes, audience=audience)
    body = encode(call)
    fields = CallFields.of(
        invocation=call.id,
        pool=call.pool,
        tool=call.tool,
        deadline_ms=call.deadline_ms,
        required_scopes=call.required_scopes,
        agent=call.caller.agent,
        body=body,
        token=token,
    )
    headers = InvocationHeaders(
        invocation=call.id,
        tool=call.tool,
        deadline_ms=call.deadline_ms,
        required_scopes=call.required_scopes,
        token=token,
        signature=sign_call(fields, issuer.executor_key()),
        agent=call.caller.agent,
    )
    return Delivered(headers.to_headers(), body)
