"""What a finished process and its result file mean as the outcome of a call."""

import signal
from dataclasses import replace
from typing import Final

from toolmesh_contracts.errors import ErrorCode
from toolmesh_runtime.process.result_envelope import ToolReturn, failure, read_envelope
from toolmesh_sandbox.errors import OutputRefusedError, OutputTooLargeError
from toolmesh_sandbox.process import Exit

__all__ = ["interpret"]

_LOGGED_STDERR: Final = 16_384
_SIGNALS: Final = {
    signal.SIGXCPU: "it used up its CPU time (max_cpu_seconds)",
    signal.SIGXFSZ: "it wrote a file over its limit (max_file_size_mb)",
    signal.SIGKILL: "it was killed, perhaps because memory ran out",
    signal.SIGSEGV: "it crashed (segmentation fault)",
    signal.SIGABRT: "it aborted",
}


def interpret(ended: Exit, result: bytes | OutputRefusedError | None, wall_clock_s: float) -> ToolReturn:
    """Return the outcome.

    Args:
        ended: How the process ended.
        result: Content of the result file, why it was refused, or None if there is none.
        wall_clock_s: The limit that the process had, in seconds.
    """
    stderr = ended.stderr[-_LOGGED_STDERR:].decode(errors="replace")
    if ended.timed_out:
        message = f"the tool ran past its limit of {wall_clock_s:g} s and was stopped"
        return failure(ErrorCode.SANDBOX_TIMEOUT, message, log=stderr)
    if isinstance(result, bytes):
        returned = read_envelope(result)
        if returned.error or ended.code == 0:
            return replace(returned, log=f"{returned.log}\n{stderr}".strip())
    if ended.setup_failed is not None:
        message = "the sandbox could not be set up; the tool did not run"
        return failure(ErrorCode.SANDBOX_FAILED, message, log=ended.setup_failed)
    if isinstance(result, OutputRefusedError):
        code = ErrorCode.RESULT_TOO_LARGE if isinstance(result, OutputTooLargeError) else ErrorCode.EXECUTION_ERROR
        return failure(code, f"the tool's result can't be used: {result.message}", log=stderr)
    reason = _SIGNALS.get(signal.Signals(ended.signal)) if ended.signal in set(signal.Signals) else None
    if ended.out_of_memory:
        reason = "it went over its memory limit"
    if ended.out_of_disk:
        reason = "it filled its folder, /tmp or /dev/shm beyond its sandbox profile's limit (bytes or number of files)"
    how = f"exit code {ended.code}" if ended.signal is None else f"signal {ended.signal}"
    last = next((line.strip() for line in reversed(stderr.splitlines()) if line.strip()), "")
    left = "left no result" if result is None else "is not trusted with its result"
    message = f"the tool's process ended with {how} and {left}"
    return failure(ErrorCode.EXECUTION_ERROR, ": ".join(part for part in (message, reason or last) if part), log=stderr)
