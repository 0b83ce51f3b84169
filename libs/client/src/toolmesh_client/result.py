"""How a call ended, for the program and for people."""

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import msgspec

from toolmesh_broker.claim_check import check_out
from toolmesh_broker.errors import BrokerError, PayloadTooLargeError
from toolmesh_broker.ports import PayloadStore
from toolmesh_contracts.envelopes.reply import ErrorInfo, InlineOutput, Outcome, Result
from toolmesh_contracts.envelopes.values import ArtifactRef, Usage, WorkspaceCopy
from toolmesh_contracts.errors import ErrorCode

__all__ = ["CallResult", "failed_result", "load_result", "local_result"]

_RETRYABLE: Final = frozenset(
    {ErrorCode.RESOURCE_EXHAUSTED, ErrorCode.BROKER_UNREACHABLE, ErrorCode.TOOL_NOT_AVAILABLE}
)


@dataclass(frozen=True, kw_only=True)
class CallResult:
    """The one result of a call.

    Attributes:
        invocation: The call's id.
        pool: The pool that it went to.
        tool: The tool's name on its workers.
        outcome: ok, error, partial, pending or auth_required.
        message: Text for the model.
        raw_data: The tool's JSON value as it came, or None if it returned none.
        error: Given exactly when the outcome is error or auth_required.
        artifacts: Files that the tool made; read them with `Client.open_artifact`.
        inline_outputs: Small outputs that came with the result.
        notes: What the worker changed or refused.
        usage: What the call cost, if it ran.
        attempt: Which run of the tool this is the result of; 0 if none ran.
        worker: Who ran it.
        message_is_all: The message is all that a model is to read; the data is for programs.
        workspace: How the call left its turn's workspace.
    """

    invocation: str
    pool: str
    tool: str
    outcome: Outcome
    message: str = ""
    raw_data: bytes | None = None
    error: ErrorInfo | None = None
    artifacts: tuple[ArtifactRef, ...] = ()
    inline_outputs: tuple[InlineOutput, ...] = ()
    notes: tuple[str, ...] = ()
    usage: Usage | None = None
    attempt: int = 0
    worker: str = ""
    message_is_all: bool = False
    workspace: WorkspaceCopy | None = None

    @property
    def ok(self) -> bool:
        """Whether the tool did all it was asked to."""
        return self.outcome is Outcome.OK

    @cached_property
    def data(self) -> Any:
        """The tool's value, parsed at the first use; None if it returned none.

        Raises:
            ValueError: the worker sent no valid JSON.
        """
        return None if self.raw_data is None else json.loads(self.raw_data)

    def text(self) -> str:
        """Return the result as a person reads it: message, value, error, files, notes; a line or more each."""
        parts = [self.message] if self.message else []
        if self.error is not None:
            # The message often is the error's own.
            if self.error.message != self.message:
                parts.append(f"{self.error.code}: {self.error.message}")
            if self.error.hint:
                parts.append(self.error.hint)
        if self.raw_data is not None and not self.message_is_all:
            parts.append(self._data_text())
        parts += [f"{output.name} ({output.mime_type}):\n{_shown(output)}" for output in self.inline_outputs]
        parts += [_described(ref) for ref in self.artifacts]
        parts += [f"note: {note}" for note in self.notes]
        return "\n".join(parts)

    def _data_text(self) -> str:
        value = self.data
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


def _described(ref: ArtifactRef) -> str:
    version = f", version {ref.version}" if ref.version else ""
    told = f"artifact {ref.filename} ({ref.mime_type}, {ref.size} bytes{version})"
    if ref.description:
        told += f": {ref.description}"
    return f"{told}\n{ref.preview}" if ref.preview else told


def _shown(output: InlineOutput) -> str:
    return f"{len(output.content)} characters of base64" if output.is_binary else output.content


def local_result(
    invocation: str, tool: str, code: ErrorCode, message: str, *, hint: str = "", attempt: int = 0, worker: str = ""
) -> Result:
    """Return an error result that this side makes, because no worker will."""
    return Result(
        invocation=invocation,
        attempt=attempt,
        tool=tool,
        worker=worker,
        outcome=Outcome.ERROR,
        message=message,
        error=ErrorInfo(code=code, message=message, retryable=code in _RETRYABLE, hint=hint),
    )


def failed_result(
    invocation: str, pool: str, tool: str, code: ErrorCode, message: str, *, hint: str = ""
) -> CallResult:
    """Return an error as a caller gets it."""
    return _call_result(local_result(invocation, tool, code, message, hint=hint), pool, message, msgspec.UNSET)


class _Document(msgspec.Struct):
    """Contents of a claim-checked result."""

    message: str = ""
    data: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


async def load_result(result: Result, pool: str, payloads: PayloadStore, bucket: str, max_bytes: int) -> CallResult:
    """Turn a worker's result into a CallResult; a claim-checked document is read chunk by chunk.

    A document that is missing, corrupt or over `max_bytes` gives an error result: the tool has run, its answer is lost.
    """
    if result.payload is None:
        return _call_result(result, pool, result.message, result.data)
    if result.payload.bucket != bucket:
        return _unreadable(result, pool, ErrorCode.PAYLOAD_MISSING, f"lies outside of pool {pool!r}")
    try:
        document = msgspec.json.decode(await check_out(payloads, result.payload, max_bytes=max_bytes), type=_Document)
    except PayloadTooLargeError as error:
        size = f"has {error.size} bytes, over this client's limit of {max_bytes}"
        return _unreadable(result, pool, ErrorCode.RESULT_TOO_LARGE, size)
    except BrokerError as error:
        return _unreadable(result, pool, error.code, f"can't be read: {error.message}")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _unreadable(result, pool, ErrorCode.PAYLOAD_CORRUPT, "is no valid result document")
    return _call_result(result, pool, document.message, document.data)


def _unreadable(result: Result, pool: str, code: ErrorCode, problem: str) -> CallResult:
    message = f"tool {result.tool!r} ended with outcome {result.outcome}, but its stored result {problem}"
    error = ErrorInfo(code=code, message=message, hint="the tool has run; call it again only if that is harmless")
    failed = msgspec.structs.replace(result, outcome=Outcome.ERROR, error=error)
    return _call_result(failed, pool, message, msgspec.UNSET)


def _call_result(result: Result, pool: str, message: str, data: msgspec.Raw | msgspec.UnsetType) -> CallResult:
    return CallResult(
        invocation=result.invocation,
        pool=pool,
        tool=result.tool,
        outcome=result.outcome,
        message=message,
        raw_data=None if isinstance(data, msgspec.UnsetType) else bytes(data),
        error=result.error,
        artifacts=result.artifacts,
        inline_outputs=result.inline_outputs,
        notes=result.notes,
        usage=result.usage,
        attempt=result.attempt,
        worker=result.worker,
        message_is_all=result.message_is_all,
        workspace=result.workspace,
    )
