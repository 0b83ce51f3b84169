"""Makes results: of a run, and of calls that no run decides."""

import msgspec

from toolmesh_contracts.envelopes.invocation import Invocation
from toolmesh_contracts.envelopes.reply import ErrorInfo, Outcome, Result
from toolmesh_contracts.envelopes.values import Usage
from toolmesh_contracts.errors import ErrorCode
from toolmesh_runtime.artifacts import StoredOutputs
from toolmesh_runtime.model_calls import ModelUsage
from toolmesh_runtime.process.result_envelope import ToolReturn
from toolmesh_sandbox import process

__all__ = ["failed_result", "run_result", "silence", "with_model_usage"]


def failed_result(
    invocation: Invocation,
    worker: str,
    attempt: int,
    code: ErrorCode,
    message: str,
    *,
    hint: str = "",
    retryable: bool = False,
) -> Result:
    """Return the result of a call that ended without a tool's answer; `retryable` only if the tool never started."""
    return Result(
        invocation=invocation.id,
        attempt=attempt,
        tool=invocation.tool,
        outcome=Outcome.ERROR,
        worker=worker,
        message=message,
        error=ErrorInfo(code=code, message=message, hint=hint, retryable=retryable),
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
        outcome=Outcome.PARTIAL if stored.lost and returned.outcome is Outcome.OK else returned.outcome,
        worker=worker,
        message=returned.message,
        data=msgspec.Raw(returned.data) if returned.data is not None else msgspec.UNSET,
        error=returned.error,
        artifacts=stored.artifacts,
        inline_outputs=stored.inline,
        notes=(*returned.notes, *stored.notes),
        usage=Usage(
            wall_ms=usage.wall_ms,
            cpu_ms=usage.cpu_ms,
            peak_memory_bytes=usage.peak_memory_bytes,
            read_bytes=usage.read_bytes,
            written_bytes=usage.written_bytes,
        ),
        tool_version=version,
    )


def silence(result: Result) -> tuple[str, ...]:
    """Return a note for a success that has nothing to show: a forgotten `return` looks like that."""
    said = result.message or result.data or result.payload or result.artifacts or result.inline_outputs
    return () if said or result.outcome is not Outcome.OK else ("the tool returned nothing",)


def with_model_usage(result: Result, model: ModelUsage | None) -> Result:
    """Add what the tool's questions to the model took to what its process used."""
    if result.usage is None or model is None:
        return result
    usage = msgspec.structs.replace(
        result.usage,
        model_calls=model.calls,
        model_input_tokens=model.input_tokens,
        model_output_tokens=model.output_tokens,
    )
    return msgspec.structs.replace(result, usage=usage)
