"""The one table of exit codes: what a script learns from how `toolmesh` ended."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from toolmesh_contracts.errors import ErrorCode

__all__ = [
    "CANCELLED",
    "DENIED",
    "EXIT_CODES",
    "FAILED",
    "OK",
    "READER_GONE",
    "TIMED_OUT",
    "UNREACHABLE",
    "USAGE",
    "WAITING",
    "exit_code_of",
]

OK: Final = 0
FAILED: Final = 1
"""The tool failed, or something that no caller can mend."""
USAGE: Final = 2
"""Wrong options, arguments or configuration."""
UNREACHABLE: Final = 3
"""No broker, or nobody who serves the tool."""
DENIED: Final = 4
TIMED_OUT: Final = 5
WAITING: Final = 6
"""The tool asks a person something, or to sign in, before it can go on."""
CANCELLED: Final = 130
"""As shells report a program ended by Ctrl-C."""
READER_GONE: Final = 141
"""As shells report a program whose reader went away (SIGPIPE), such as in `toolmesh ... | head -1`."""

EXIT_CODES: Final[Mapping[ErrorCode, int]] = MappingProxyType(
    {
        ErrorCode.AUTHENTICATION_FAILED: DENIED,
        ErrorCode.PERMISSION_DENIED: DENIED,
        ErrorCode.AUTH_REQUIRED: WAITING,
        ErrorCode.INVALID_REQUEST: USAGE,
        ErrorCode.UNSUPPORTED_SCHEMA: USAGE,
        ErrorCode.INVALID_ARGUMENTS: USAGE,
        ErrorCode.INVALID_NAME: USAGE,
        ErrorCode.INVALID_CONFIGURATION: USAGE,
        ErrorCode.TOOL_NOT_FOUND: USAGE,
        ErrorCode.TOOL_NOT_AVAILABLE: UNREACHABLE,
        ErrorCode.INIT_ERROR: FAILED,
        ErrorCode.IMPORT_ERROR: FAILED,
        ErrorCode.EXECUTION_ERROR: FAILED,
        ErrorCode.TOOL_ERROR: FAILED,
        ErrorCode.ARTIFACT_ERROR: FAILED,
        ErrorCode.SANDBOX_TIMEOUT: TIMED_OUT,
        ErrorCode.SANDBOX_FAILED: FAILED,
        ErrorCode.SANDBOX_UNAVAILABLE: USAGE,
        ErrorCode.DEADLINE_EXCEEDED: TIMED_OUT,
        ErrorCode.CANCELLED: CANCELLED,
        ErrorCode.WORKER_LOST: FAILED,
        ErrorCode.RESOURCE_EXHAUSTED: FAILED,
        ErrorCode.RESULT_TOO_LARGE: FAILED,
        ErrorCode.PAYLOAD_MISSING: FAILED,
        ErrorCode.PAYLOAD_CORRUPT: FAILED,
        ErrorCode.MODEL_NOT_CONFIGURED: USAGE,
        ErrorCode.MODEL_UNAVAILABLE: UNREACHABLE,
        ErrorCode.MODEL_FAILED: FAILED,
        ErrorCode.BROKER_UNREACHABLE: UNREACHABLE,
        ErrorCode.BROKER_REFUSED: USAGE,
        ErrorCode.INTERNAL_ERROR: FAILED,
    }
)


def exit_code_of(code: str) -> int:
    """Return the exit code of an error code; 1 for one this build doesn't know."""
    try:
        return EXIT_CODES[ErrorCode(code)]
    except ValueError:
        return FAILED
