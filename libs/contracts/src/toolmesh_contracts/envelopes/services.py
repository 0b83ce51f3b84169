"""Requests that workers and executors make of other services."""

from typing import Annotated

import msgspec

from toolmesh_contracts.envelopes.values import Identifier, Milliseconds
from toolmesh_contracts.errors import ErrorCode

__all__ = ["MintReply", "MintRequest", "ModelReply", "ModelRequest"]


class ModelRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A tool's model call, charged to its task. Workers hold no provider key."""

    invocation: Identifier
    attempt: Annotated[int, msgspec.Meta(ge=1)]
    worker: Identifier
    system_prompt: str
    user_prompt: str
    temperature: Annotated[float, msgspec.Meta(ge=0, le=2)] = 0.7
    deadline_ms: Milliseconds


class ModelReply(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The model's text, or why there is none."""

    text: str | None = None
    code: ErrorCode | None = None
    message: str = ""
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
