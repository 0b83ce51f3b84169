"""Stable error codes and the base of every typed error.

Codes are part of the wire contract: they are added, never renamed.
"""

from enum import StrEnum
from typing import ClassVar


class ErrorCode(StrEnum):
    """Why a call, a message or a configuration was not accepted."""

    AUTHENTICATION_FAILED = "AUTHENTICATION_FAILED"
    """The token or the executor's signature is missing, expired or wrong."""
    PERMISSION_DENIED = "PERMISSION_DENIED"
    """The caller is known but lacks a required scope."""
    AUTH_REQUIRED = "AUTH_REQUIRED"
    """The tool needs the user to sign in to another system first."""
    INVALID_REQUEST = "INVALID_REQUEST"
    """The message can't be decoded or breaks the contract."""
    UNSUPPORTED_SCHEMA = "UNSUPPORTED_SCHEMA"
    """The message has a schema or a major version this build doesn't know."""
    INVALID_ARGUMENTS = "INVALID_ARGUMENTS"
    """The tool's arguments are not valid JSON or not an object."""
    INVALID_NAME = "INVALID_NAME"
    """A namespace, pool, tool or other name breaks its grammar."""
    INVALID_CONFIGURATION = "INVALID_CONFIGURATION"
    """A file that a person wrote has errors."""
    TOOL_NOT_FOUND = "TOOL_NOT_FOUND"
    """No such tool is known."""
    TOOL_NOT_AVAILABLE = "TOOL_NOT_AVAILABLE"
    """The tool is known, but no worker serves it now."""
    INIT_ERROR = "INIT_ERROR"
    """The tool's schema could not be read from it."""
    IMPORT_ERROR = "IMPORT_ERROR"
    """The tool's code could not be loaded."""
    EXECUTION_ERROR = "EXECUTION_ERROR"
    """The tool's process ended without a result."""
    TOOL_ERROR = "TOOL_ERROR"
    """The tool ran and reported an error."""
    ARTIFACT_ERROR = "ARTIFACT_ERROR"
    """An input artifact is missing, or an output one was refused."""
    SANDBOX_TIMEOUT = "SANDBOX_TIMEOUT"
    """The tool ran past its wall clock and was killed."""
    SANDBOX_FAILED = "SANDBOX_FAILED"
    """The sandbox itself could not be set up; the tool never started."""
    SANDBOX_UNAVAILABLE = "SANDBOX_UNAVAILABLE"
    """This machine can't give the isolation that was asked for."""
    DEADLINE_EXCEEDED = "DEADLINE_EXCEEDED"
    """The call's deadline passed before a result arrived."""
    CANCELLED = "CANCELLED"
    """The caller withdrew the call."""
    WORKER_LOST = "WORKER_LOST"
    """The worker died during the call; whether the tool's effects happened is unknown."""
    RESOURCE_EXHAUSTED = "RESOURCE_EXHAUSTED"
    """A queue, a disk or a limit is full; try again later."""
    RESULT_TOO_LARGE = "RESULT_TOO_LARGE"
    """The tool's result is over the worker's limit."""
    PAYLOAD_MISSING = "PAYLOAD_MISSING"
    """A large argument, result or artifact is no longer stored."""
    PAYLOAD_CORRUPT = "PAYLOAD_CORRUPT"
    """A stored payload doesn't match its size or SHA-256."""
    MODEL_NOT_CONFIGURED = "MODEL_NOT_CONFIGURED"
    """No language model is set up, its provider is unknown, or its key is missing or refused."""
    MODEL_UNAVAILABLE = "MODEL_UNAVAILABLE"
    """The model's provider can't be reached, is overloaded or limits the rate; try again later."""
    MODEL_FAILED = "MODEL_FAILED"
    """The model's provider refused the question, or its answer can't be used."""
    BROKER_UNREACHABLE = "BROKER_UNREACHABLE"
    """No connection to the broker, or no answer in time."""
    BROKER_REFUSED = "BROKER_REFUSED"
    """The broker is too old, set up differently, or denies the operation."""
    INTERNAL_ERROR = "INTERNAL_ERROR"
    """A fault of toolmesh itself; the operator's log has the details."""


class ToolmeshError(Exception):
    """Base of the errors a program may catch.

    Attributes:
        code: Stable code of the kind.
        message: One sentence that names the file, field or value.
        hint: What to do next; may be empty.
    """

    default_code: ClassVar[ErrorCode] = ErrorCode.INTERNAL_ERROR

    def __init__(self, message: str, *, code: ErrorCode | None = None, hint: str = "") -> None:
        super().__init__(message)
        self.code = code or self.default_code
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


class InvalidNameError(ToolmeshError):
    """Raised when a name breaks its grammar."""

    default_code = ErrorCode.INVALID_NAME


class MalformedMessageError(ToolmeshError):
    """Raised when bytes from the broker are no valid message of the expected kind."""

    default_code = ErrorCode.INVALID_REQUEST


class UnsupportedSchemaError(ToolmeshError):
    """Raised when a message's schema name or major version is not the expected one."""

    default_code = ErrorCode.UNSUPPORTED_SCHEMA
