"""What comes back from a call: statuses and one result."""

from enum import StrEnum
from typing import Annotated

import msgspec

from toolmesh_contracts.envelopes.values import (
    ArtifactRef,
    Identifier,
    Milliseconds,
    PayloadRef,
    RawJson,
    Usage,
    WorkspaceCopy,
)
from toolmesh_contracts.errors import ErrorCode

__all__ = ["Confirmation", "ErrorInfo", "InlineOutput", "Outcome", "Result", "Status", "StatusState"]


class StatusState(StrEnum):
    """Kind of a status."""

    STARTED = "started"
    PROGRESS = "progress"


class Outcome(StrEnum):
    """How a call ended."""

    OK = "ok"
    ERROR = "error"
    PARTIAL = "partial"
    """Some of the work is done; the message says which."""
    PENDING = "pending"
    """The tool waits for a person's answer."""
    AUTH_REQUIRED = "auth_required"
    """The tool waits for a person to sign in."""


class Status(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line of progress. May be dropped or merged with a later one."""

    invocation: Identifier
    attempt: Annotated[int, msgspec.Meta(ge=1)]
    seq: Annotated[int, msgspec.Meta(ge=0)]
    """Counts up within an attempt."""
    state: StatusState
    worker: Identifier
    text: Annotated[str, msgspec.Meta(max_length=4096)] = ""
    progress: Annotated[float, msgspec.Meta(ge=0, le=1)] | None = None
    """How far the tool is, from 0 to 1, if it says so."""
    at_ms: Milliseconds


class ErrorInfo(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An error for the model: what went wrong and whether another try can help."""

    code: ErrorCode
    message: str
    type: str = ""
    """Exception class in the tool, or the tool's own error code."""
    retryable: bool = False
    retry_after_ms: Milliseconds | None = None
    hint: str = ""


class InlineOutput(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A small output that travels in the result itself."""

    name: str
    mime_type: str
    content: str
    is_binary: bool = False
    """Content is base64."""
    description: str | None = None
    metadata: dict[str, msgspec.Raw] | None = None


class Result(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The one result of a call. Sent as a request; also what the results bucket stores."""

    invocation: Identifier
    attempt: Annotated[int, msgspec.Meta(ge=0)]
    """0 when no worker ran the tool."""
    seq: Annotated[int, msgspec.Meta(ge=0)] = 0
    tool: str
    outcome: Outcome
    worker: str = ""
    message: str = ""
    """Text for the model."""
    data: RawJson = msgspec.UNSET
    """JSON value, if the tool returned one; absent when `payload` is given."""
    message_is_all: bool = False
    """The message is all that a model is to read; `data` is for programs."""
    payload: PayloadRef | None = None
    """Claim check for a large `{"message": ..., "data": ...}` document."""
    error: ErrorInfo | None = None
    """Given exactly when the outcome is error or auth_required."""
    artifacts: tuple[ArtifactRef, ...] = ()
    inline_outputs: tuple[InlineOutput, ...] = ()
    notes: tuple[str, ...] = ()
    """What the worker changed or refused, such as a file over the limit."""
    usage: Usage | None = None
    tool_version: str | None = None
    workspace: WorkspaceCopy | None = None
    """How the call left its turn's workspace."""


class Confirmation(msgspec.Struct, frozen=True, kw_only=True):
    """An executor's answer to a result: accepted, or a call it does not know."""

    invocation: Identifier
    accepted: bool
