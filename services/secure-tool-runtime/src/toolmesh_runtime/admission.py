"""Decides whether an invocation may run here: the headers are verified before the body is read."""

import json
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import msgspec

from toolmesh_broker.ports import Delivery
from toolmesh_contracts.envelopes.invocation import Invocation
from toolmesh_contracts.errors import ErrorCode, MalformedMessageError, ToolmeshError
from toolmesh_contracts.invocation_headers import InvocationHeaders
from toolmesh_contracts.scopes import ScopeSet
from toolmesh_contracts.sealed_config import merge_config, sealing_context
from toolmesh_contracts.wire import decode
from toolmesh_identity import tokens
from toolmesh_identity.claims import Claims
from toolmesh_identity.errors import IdentityError, SealError
from toolmesh_identity.keys import SealingKeys, VerifyingKeys
from toolmesh_identity.sealing import open_sealed
from toolmesh_identity.signatures import CallFields, verify_call

__all__ = ["AdmittedCall", "CallRefusedError", "Verifier", "require_scopes"]


@dataclass(frozen=True, slots=True)
class AdmittedCall:
    """An invocation whose caller, content and place are proven."""

    invocation: Invocation
    headers: InvocationHeaders
    claims: Claims
    body_sha256: str = ""
    """Hexadecimal; with the headers it proves the call to others."""


class CallRefusedError(ToolmeshError):
    """Raised for an invocation that must not run.

    Attributes:
        invocation: The call, if a known executor signed it and it could be read: then its caller is told.
    """

    def __init__(
        self,
        code: ErrorCode,
        message: str,
        *,
        hint: str = "",
        invocation: Invocation | None = None,
    ) -> None:
        super().__init__(message, code=code, hint=hint)
        self.invocation = invocation


@dataclass(frozen=True, slots=True, kw_only=True)
class Verifier:
    """The keys and names that this worker checks calls against."""

    namespace: str
    pool: str
    issuer: str
    issuer_keys: VerifyingKeys
    executor_keys: VerifyingKeys
    sealing_keys: SealingKeys

    def admit(self, delivery: Delivery, now: float) -> AdmittedCall:
        """Verify a delivery, then read it.

        Args:
            delivery: What the queue handed out.
            now: Unix time in seconds.

        Raises:
            CallRefusedError: it must not run, with the reason.
        """
        try:
            headers = InvocationHeaders.parse(delivery.headers)
        except ToolmeshError as error:
            raise CallRefusedError(error.code, error.message) from error
        self._verify_signature(delivery, headers)
        claims = self._verify_token(delivery, headers, now)
        invocation = _read(delivery.body)
        self._compare(invocation, headers, claims)
        return AdmittedCall(invocation, headers, claims, sha256(delivery.body).hexdigest())

    def _verify_signature(self, delivery: Delivery, headers: InvocationHeaders) -> None:
        call = CallFields.of(
            invocation=headers.invocation,
            pool=self.pool,
            tool=headers.tool,
            deadline_ms=headers.deadline_ms,
            required_scopes=headers.required_scopes,
            agent=headers.agent,
            body=delivery.body,
            token=headers.token,
        )
        try:
            verify_call(headers.signature, call, self.executor_keys)
        except IdentityError as error:
            raise CallRefusedError(ErrorCode.AUTHENTICATION_FAILED, error.message) from error

    def _verify_token(self, delivery: Delivery, headers: InvocationHeaders, now: float) -> Claims:
        try:
            return tokens.verify(headers.token, self.issuer_keys, audience=self.namespace, issuer=self.issuer, now=now)
        except IdentityError as error:
            # A known executor signed it: whoever waits for it there is told.
            code = ErrorCode.AUTHENTICATION_FAILED
            raise CallRefusedError(code, error.message, invocation=_read(delivery.body)) from error

    def _compare(self, invocation: Invocation, headers: InvocationHeaders, claims: Claims) -> None:
        pairs: dict[str, tuple[object, object]] = {
            "id": (invocation.id, headers.invocation),
            "tool": (invocation.tool, headers.tool),
            "pool": (invocation.pool, self.pool),
            "deadline_ms": (invocation.deadline_ms, headers.deadline_ms),
            "required_scopes": (invocation.required_scopes, headers.required_scopes),
            "caller.user": (invocation.caller.user, claims.subject),
            "agent": (invocation.caller.agent, headers.agent),
        }
        for name in ("agent", "session", "task"):
            if named := getattr(claims, name):
                pairs[f"caller.{name}"] = (getattr(invocation.caller, name), named)
        if different := [name for name, (body, header) in pairs.items() if body != header]:
            raise CallRefusedError(
                ErrorCode.AUTHENTICATION_FAILED,
                f"the body and the signed headers differ in: {', '.join(different)}",
                invocation=invocation,
            )

    def open_config(self, invocation: Invocation) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Return the tool's whole configuration, and the texts in it that are secret.

        Raises:
            CallRefusedError: the configuration is no object, or its sealed part can't be opened.
        """
        try:
            config = json.loads(bytes(invocation.tool_config)) if invocation.tool_config is not msgspec.UNSET else {}
            if not isinstance(config, dict):
                raise ValueError("it is no object")  # noqa: TRY301, TRY004 - one handler for every malformed form
            if invocation.sealed_config is None:
                return config, ()
            box = open_sealed(
                invocation.sealed_config,
                self.sealing_keys,
                sealing_context(self.namespace, self.pool, invocation.id),
            )
            return merge_config(config, json.loads(box))
        except SealError as error:
            raise CallRefusedError(ErrorCode.AUTHENTICATION_FAILED, error.message, invocation=invocation) from error
        except (ValueError, RecursionError) as error:
            raise CallRefusedError(ErrorCode.INVALID_REQUEST, f"tool_config: {error}", invocation=invocation) from error


def _read(body: bytes) -> Invocation:
    try:
        return decode(Invocation, body)
    except MalformedMessageError as error:
        raise CallRefusedError(error.code, error.message) from error


def require_scopes(call: AdmittedCall, of_the_tool: tuple[str, ...]) -> None:
    """Check that the token holds the scopes that the executor signed and those of the tool's own manifest.

    Raises:
        CallRefusedError: a scope is missing; the message names it.
    """
    granted = ScopeSet(call.claims.scopes)
    if missing := granted.missing((*call.headers.required_scopes, *of_the_tool)):
        raise CallRefusedError(
            ErrorCode.PERMISSION_DENIED,
            f"tool {call.invocation.exposed_name!r} needs the scope {', '.join(missing)}",
            hint="ask an administrator for a role that grants it",
            invocation=call.invocation,
        )
