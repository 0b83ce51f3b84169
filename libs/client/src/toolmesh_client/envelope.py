"""Writes and signs the message of one call."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from toolmesh_broker.ports import OutgoingInvocation
from toolmesh_client.arguments import encode_json
from toolmesh_client.errors import InvalidArgumentsError, InvalidCallError
from toolmesh_client.request import CallRequest
from toolmesh_client.secrets_box import seal_secrets
from toolmesh_client.settings import ClientSettings
from toolmesh_contracts.envelopes.catalog import DECLARED_PROFILE, CatalogEntry
from toolmesh_contracts.envelopes.invocation import Invocation
from toolmesh_contracts.envelopes.values import ArtifactRef, Caller, PayloadRef, WorkspaceCopy
from toolmesh_contracts.invocation_headers import InvocationHeaders
from toolmesh_contracts.names import NO_AGENT, Lane
from toolmesh_contracts.subjects import Subjects
from toolmesh_contracts.wire import encode
from toolmesh_identity.claims import Claims
from toolmesh_identity.signatures import CallFields, sign_call

__all__ = ["CallParts", "caller_of", "write_envelope"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallParts:
    """What a call is made of, checked and stored.

    Attributes:
        invocation: Its id.
        request: What the caller asked for.
        entry: The tool.
        token: The caller's token.
        claims: What the token says.
        deadline_ms: Unix time in milliseconds.
        arguments: JSON object.
        arguments_payload: Where the arguments are if they are too large to travel along.
        artifacts: Input files.
        workspace: How the turn's last call left the workspace.
    """

    invocation: str
    request: CallRequest
    entry: CatalogEntry
    token: str
    claims: Claims
    deadline_ms: int
    arguments: bytes
    arguments_payload: PayloadRef | None
    artifacts: Mapping[str, ArtifactRef]
    workspace: WorkspaceCopy | None = None

    @property
    def caller(self) -> Caller:
        """On whose behalf the call runs."""
        return caller_of(self.claims, self.request)


def caller_of(claims: Claims, request: CallRequest) -> Caller:
    """Return on whose behalf a call runs: as the token says, else as the request does."""
    return Caller(
        user=claims.subject,
        agent=claims.agent or request.agent,
        session=claims.session or request.session,
        task=claims.task or request.task,
    )


def write_envelope(parts: CallParts, settings: ClientSettings) -> OutgoingInvocation:
    """Return the signed message.

    Raises:
        InvalidCallError: the settings or the profile are no JSON, or a required scope is none.
        SecretNotSealableError: there are secrets and no key of the pool.
    """
    pool, tool = parts.entry.pool, parts.entry.tool
    _check_scopes(parts.request.required_scopes)
    body = encode(_invocation(parts, settings))
    fields = CallFields.of(
        invocation=parts.invocation,
        pool=pool,
        tool=tool,
        deadline_ms=parts.deadline_ms,
        required_scopes=parts.request.required_scopes,
        agent=parts.caller.agent,
        body=body,
        token=parts.token,
    )
    lane = parts.request.lane or _lane_of(parts.entry)
    subjects = Subjects(settings.namespace)
    message_headers = InvocationHeaders(
        invocation=parts.invocation,
        tool=tool,
        deadline_ms=parts.deadline_ms,
        required_scopes=parts.request.required_scopes,
        token=parts.token,
        signature=sign_call(fields, settings.signing_key),
        traceparent=parts.request.traceparent or _new_traceparent(),
        agent=parts.caller.agent,
    )
    return OutgoingInvocation(
        pool=pool,
        subject=subjects.invoke(pool, lane, parts.caller.agent or NO_AGENT, parts.caller.user),
        invocation=parts.invocation,
        body=body,
        deadline_ms=parts.deadline_ms,
        headers=message_headers.to_headers(),
    )


def _invocation(parts: CallParts, settings: ClientSettings) -> Invocation:
    request, pool = parts.request, parts.entry.pool
    return Invocation(
        id=parts.invocation,
        tool=parts.entry.tool,
        exposed_name=request.exposed_name or parts.entry.tool,
        pool=pool,
        executor=settings.executor,
        caller=parts.caller,
        deadline_ms=parts.deadline_ms,
        arguments=msgspec.UNSET if parts.arguments_payload else msgspec.Raw(parts.arguments),
        arguments_payload=parts.arguments_payload,
        required_scopes=request.required_scopes,
        timeout_ms=None if request.tool_timeout_s is None else max(1, int(request.tool_timeout_s * 1000)),
        tool_config=_clear_json(request.tool_config, "tool_config"),
        sealed_config=seal_secrets(
            request.secrets,
            settings.sealing_keys,
            namespace=settings.namespace,
            pool=pool,
            invocation=parts.invocation,
        ),
        artifacts=dict(parts.artifacts),
        user_profile=_clear_json(request.user_profile, "user_profile"),
        # A declared tool's package is in its version: what the caller saw is what runs.
        tool_version=parts.entry.version if parts.entry.profile == DECLARED_PROFILE else None,
        workspace_turn=request.turn or None,
        workspace=parts.workspace,
        requeued_from=request.requeued_from or None,
    )


def _lane_of(entry: CatalogEntry) -> Lane:
    # A newer worker may know lanes that this client doesn't.
    return Lane(entry.lane) if entry.lane in frozenset(Lane) else Lane.NORMAL


def _check_scopes(scopes: tuple[str, ...]) -> None:
    # They travel in a header, separated by spaces.
    if broken := [scope for scope in scopes if not scope.isprintable() or not scope or " " in scope]:
        raise InvalidCallError(f"required scope {broken[0]!r} is no scope", hint="write <category>:<resource>:<verb>")


def _new_traceparent() -> str:
    return f"00-{secrets.token_hex(16)}-{secrets.token_hex(8)}-01"


def _clear_json(value: Mapping[str, object] | None, what: str) -> msgspec.Raw | msgspec.UnsetType:
    if not value:
        return msgspec.UNSET
    try:
        return msgspec.Raw(encode_json(value, what))
    except InvalidArgumentsError as error:
        raise InvalidCallError(error.message, hint=error.hint) from error
