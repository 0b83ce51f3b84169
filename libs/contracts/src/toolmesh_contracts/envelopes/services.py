"""Requests that workers and executors make of other services."""

from typing import Annotated

import msgspec

from toolmesh_contracts.envelopes.values import Identifier, Milliseconds
from toolmesh_contracts.errors import ErrorCode

__all__ = ["MintReply", "MintRequest", "ModelReply", "ModelRequest"]


class ModelRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A tool's model call, charged to its task. Workers hold no provider key.

    Its headers are the call's own, with the call's signature and the hash of its body: who answers sees that an
    executor signed this call for this pool.
    """

    invocation: Identifier
    attempt: Annotated[int, msgspec.Meta(ge=1)]
    worker: Identifier
    system_prompt: str
    user_prompt: str
    temperature: Annotated[float, msgspec.Meta(ge=0, le=2)] = 0.7
    deadline_ms: Milliseconds
    model: Annotated[str, msgspec.Meta(max_length=200)] = ""
    """A model that the agent allows its tools; empty: the agent's own, else the executor's."""
    max_tokens: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """Longest answer, if shorter than the executor allows."""


class ModelReply(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The model's text, or why there is none."""

    text: str | None = None
    code: ErrorCode | None = None
    message: str = ""
    retryable: bool = False
    """The same question may be answered a moment later."""
    model: str = ""
    """Which one answered."""
    input_tokens: Annotated[int, msgspec.Meta(ge=0)] = 0
    output_tokens: Annotated[int, msgspec.Meta(ge=0)] = 0


class MintRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Ask for a fresh token for a task that outlived its own, or whose schedule fired."""

    task: Identifier
    user: str
    agent: str
    schedule: str = ""
    previous_token: str = ""
    """The expired token, whose identity the new one may at most repeat."""


class MintReply(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The token, or why there is none."""

    token: str | None = None
    expires_ms: Milliseconds = 0
    code: ErrorCode | None = None
    message: str = ""
