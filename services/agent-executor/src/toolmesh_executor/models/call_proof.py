"""Whether a request is about a call that an executor signed for this pool and whose time is not over.

A worker has the headers of its own pool's calls and no signing key. So a compromised one can ask on behalf of calls
that its pool was given, until their deadline, and of no other.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from toolmesh_contracts.envelopes.services import ModelRequest
from toolmesh_contracts.errors import ErrorCode, ToolmeshError
from toolmesh_contracts.headers import BODY_SHA256
from toolmesh_contracts.invocation_headers import InvocationHeaders
from toolmesh_contracts.wire import schema_name
from toolmesh_identity import tokens
from toolmesh_identity.claims import Claims
from toolmesh_identity.errors import IdentityError
from toolmesh_identity.keys import VerifyingKeys
from toolmesh_identity.signatures import CallFields, token_digest, verify_call

__all__ = ["CallVerifier", "ProvenCall", "UnprovenCallError"]

_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_REQUEST: Final = schema_name(ModelRequest)


class UnprovenCallError(ToolmeshError):
    """Raised for a request that proves no running call of its pool."""

    default_code = ErrorCode.AUTHENTICATION_FAILED


@dataclass(frozen=True, slots=True)
class ProvenCall:
    """A call that an executor signed.

    Attributes:
        invocation: Its id.
        agent: The agent that makes it; empty without one.
        deadline_ms: Unix time in milliseconds at which it ends.
        claims: Who calls.
    """

    invocation: str
    agent: str
    deadline_ms: int
    claims: Claims


@dataclass(frozen=True, slots=True, kw_only=True)
class CallVerifier:
    """The keys and names against which requests are checked."""

    namespace: str
    issuer: str
    issuer_keys: VerifyingKeys
    executor_keys: VerifyingKeys

    def prove(self, values: Mapping[str, str], pool: str, now: float) -> ProvenCall:
        """Verify a request's headers.

        Args:
            values: The headers.
            pool: The pool whose subject it came on.
            now: Unix time in seconds.

        Raises:
            ToolmeshError: they prove nothing; the message says what is wrong.
        """
        headers = InvocationHeaders.parse(values, _REQUEST)
        digest = values.get(BODY_SHA256, "")
        if not _DIGEST.fullmatch(digest):
            raise UnprovenCallError(f"header {BODY_SHA256} is no SHA-256")
        call = CallFields(
            invocation=headers.invocation,
            pool=pool,
            tool=headers.tool,
            deadline_ms=headers.deadline_ms,
            required_scopes=headers.required_scopes,
            agent=headers.agent,
            body_sha256=bytes.fromhex(digest),
            token_sha256=token_digest(headers.token),
        )
        try:
            verify_call(headers.signature, call, self.executor_keys)
            claims = tokens.verify(
                headers.token, self.issuer_keys, audience=self.namespace, issuer=self.issuer, now=now
            )
        except IdentityError as error:
            raise UnprovenCallError(error.message) from error
        if headers.deadline_ms <= now * 1000:
            raise UnprovenCallError("the call's deadline has passed", code=ErrorCode.DEADLINE_EXCEEDED)
        return ProvenCall(headers.invocation, headers.agent, headers.deadline_ms, claims)
