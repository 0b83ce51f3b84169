"""Makes results: of a run, and of calls that no run decides."""

import json
from dataclasses import replace
from typing import Any

import msgspec

from toolmesh_contracts.envelopes.invocation import Invocation
from toolmesh_contracts.envelopes.reply import ErrorInfo, Outcome, Result
from toolmesh_contracts.envelopes.values import Usage
from toolmesh_contracts.errors import ErrorCode
from toolmesh_runtime.artifacts import StoredOutputs
from toolmesh_runtime.process.result_envelope import ToolReturn
from toolmesh_sandbox import process
from toolmesh_telemetry.redaction import Redactor

__all__ = ["failed_result", "redacted", "run_result"]


def failed_result(
    invocation: Invocation, worker: str, attempt: int, code: ErrorCode, message: str, *, hint: str = ""
) -> Result:
    """Return the result of a call that ended without a tool's answer."""
    return Result(
        invocation=invocation.id,
        attempt=attempt,
        tool=invocation.tool,
        outcome=Outcome.ERROR,
        worker=worker,
        message=message,
        error=ErrorInfo(code=code, message=message, hint=hint, retryable=code is ErrorCode.RESOURCE_EXHAUSTED),
    )


def run_result(
    invocation: Invocation,
    worker: str,
    attempt: int,
    returned: ToolReturn,
    stored: StoredOutputs,
    usage: process.Usage,
    version: str,
) -> Result:
    """Return the result of a finished run."""
    return Result(
        invocation=invocation.id,
        attempt=attempt,
        tool=invocation.tool,
        outcome=returned.outcome,
        worker=worker,
        message=returned.message,
        data=msgspec.Raw(returned.data) if returned.data is not None else msgspec.UNSET,
        error=returned.error,
        artifacts=stored.artifacts,
        inline_outputs=stored.inline,
        notes=(*returned.notes, *stored.notes),
        usage=Usage(wall_ms=usage.wall_ms, cpu_ms=usage.cpu_ms, peak_memory_bytes=usage.peak_memory_bytes),
        tool_version=version,
    )


def redacted(returned: ToolReturn, secrets: tuple[str, ...]) -> ToolReturn:
    """Return what a tool said without the secrets it was given; its data and files too, as they are stored in clear.

    Only the call's own secrets are looked for: a tool may well return something that looks like a token.
    """
    if not secrets:
        return returned
    hide = Redactor()
    hide.add(*secrets)

    def exact(text: str) -> str:
        return hide.exact(text)

    error = returned.error
    if error is not None:
        error = msgspec.structs.replace(error, message=exact(error.message), type=exact(error.type))
    return replace(
        returned,
        message=exact(returned.message),
        data=None if returned.data is None else _redacted_json(returned.data, hide),
        error=error,
        notes=tuple(map(exact, returned.notes)),
        log=exact(returned.log),
    )


def _redacted_json(data: bytes, hide: Redactor) -> bytes:
    def clean(value: Any) -> Any:
        if isinstance(value, str):
            return hide.exact(value)
        if isinstance(value, list):
            return [clean(item) for item in value]
        if isinstance(value, dict):
            return {hide.exact(key): clean(item) for key, item in value.items()}
        return value

    return json.dumps(clean(json.loads(data)), ensure_ascii=False, separators=(",", ":")).encode()
