"""A call on its way to a worker, and its withdrawal."""

from typing import Annotated

import msgspec

from toolmesh_contracts.envelopes.values import (
    ArtifactRef,
    Caller,
    Identifier,
    Milliseconds,
    PayloadRef,
    RawJson,
    VolumeMount,
    WorkspaceCopy,
)

__all__ = ["Cancel", "DirectReply", "Invocation"]


class Invocation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Body of `tm.<ns>.invoke.<pool>.<lane>.<shard>.<tenant>` and of a direct call.

    The executor signs its SHA-256 together with id, pool, tool, deadline and required scopes.
    """

    id: Identifier
    tool: str
    """The tool's own name on the worker."""
    exposed_name: str
    """The name the model called; differs from `tool` after a `_str_binary` rename."""
    pool: str
    executor: Identifier
    """Replies go to this executor."""
    caller: Caller
    deadline_ms: Milliseconds
    """Unix time in milliseconds; never past the token's expiry."""
    arguments: RawJson = msgspec.UNSET
    """JSON object as raw bytes, parsed only in the sandbox; absent when `arguments_payload` is given."""
    arguments_payload: PayloadRef | None = None
    required_scopes: tuple[str, ...] = ()
    """Scopes of the agent's tool entry, besides those of the tool's own manifest."""
    timeout_ms: Milliseconds | None = None
    """Wall clock for the tool, if shorter than its manifest's."""
    tool_config: RawJson = msgspec.UNSET
    """JSON object of the operator's settings, without secrets."""
    sealed_config: str | None = None
    """Box for the pool: a JSON list of [path, value] to put into `tool_config`."""
    artifacts: dict[str, ArtifactRef] = {}
    """Input files by parameter, or `parameter[i]` for lists."""
    volume_mounts: tuple[VolumeMount, ...] = ()
    user_profile: RawJson = msgspec.UNSET
    """JSON object from the caller's side; unsigned but for what the worker pins to the token."""
    tool_version: str | None = None
    """Digest of the toolset the caller saw; a worker with another one hands the call back."""
    workspace_turn: str | None = None
    """Turn whose workspace a declared tool shares."""
    workspace: WorkspaceCopy | None = None
    """How the turn's last call left that workspace; None in the turn's first call."""
    requeued_from: str | None = None
    """Id of the dead letter this call was made from."""


class Cancel(msgspec.Struct, frozen=True, kw_only=True):
    """Body of `tm.<ns>.control.<pool>.<worker>`: stop a running call."""

    invocation: Identifier
    executor: Identifier
    reason: Annotated[str, msgspec.Meta(max_length=1000)] = ""


class DirectReply(msgspec.Struct, frozen=True, kw_only=True):
    """A worker's answer to a direct call: whether it took it."""

    invocation: Identifier
    taken: bool
    reason: str = ""
