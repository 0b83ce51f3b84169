"""Turns whatever ended a command into an error code, one message, a hint and an exit code."""

from dataclasses import dataclass

from toolmesh_cli import exit_codes
from toolmesh_contracts.errors import ErrorCode, ToolmeshError

__all__ = ["CommandFailedError", "Failure", "OutputLostError", "ReaderGoneError", "describe"]

_IDENTITY_CODES = {
    "TOKEN_INVALID": ErrorCode.AUTHENTICATION_FAILED,
    "TOKEN_EXPIRED": ErrorCode.AUTHENTICATION_FAILED,
    "SIGNATURE_INVALID": ErrorCode.AUTHENTICATION_FAILED,
}
_MACHINE_LACKS = frozenset({"SANDBOX_UNAVAILABLE", "POLICY_REFUSED", "POLICY_INVALID", "BASE_FOLDER_INVALID"})
"""Sandbox errors that someone has to mend in the machine or in what was asked for."""


@dataclass(frozen=True, slots=True)
class Failure:
    """What is shown to a person, and how the command ends."""

    code: str
    message: str
    hint: str
    exit_code: int


class CommandFailedError(ToolmeshError):
    """Raised when a command ends with an exit code that its error code alone doesn't give."""

    def __init__(self, message: str, *, code: ErrorCode, exit_code: int, hint: str = "") -> None:
        super().__init__(message, code=code, hint=hint)
        self.exit_code = exit_code


class OutputLostError(CommandFailedError):
    """Raised when stdout can't be written, for example because a disk is full."""

    def __init__(self, cause: OSError) -> None:
        super().__init__(
            f"the output can't be written to stdout: {cause.strerror or cause}",
            code=ErrorCode.INVALID_REQUEST,
            exit_code=exit_codes.FAILED,
            hint="what the command did is done; send its output elsewhere",
        )


class ReaderGoneError(CommandFailedError):
    """Raised when the program that stdout is piped to has ended; nobody needs to be told."""

    def __init__(self) -> None:
        super().__init__("nobody reads the output any more", code=ErrorCode.CANCELLED, exit_code=exit_codes.READER_GONE)


def describe(error: BaseException) -> Failure | None:
    """Return what to tell of an expected error; None for one that is a fault of toolmesh itself."""
    error = _innermost(error)
    if isinstance(error, CommandFailedError):
        return Failure(error.code, error.message, error.hint, error.exit_code)
    if isinstance(error, ToolmeshError):
        return Failure(error.code, error.message, error.hint, exit_codes.exit_code_of(error.code))
    if isinstance(error, KeyboardInterrupt):
        return Failure(ErrorCode.CANCELLED, "interrupted", "", exit_codes.CANCELLED)
    # One without a file, such as a timeout or a lost connection, is nothing that a path cures.
    if isinstance(error, OSError) and error.filename:
        message = f"{error.strerror or error}: {error.filename}"
        return Failure(ErrorCode.INVALID_CONFIGURATION, message, "check the path and who may use it", exit_codes.USAGE)
    return _describe_standalone(error)


def _describe_standalone(error: BaseException) -> Failure | None:
    """Describe errors of the libraries that know no contracts: they have their own `code` and `message`."""
    from toolmesh_identity.errors import IdentityError
    from toolmesh_sandbox.errors import SandboxError

    if isinstance(error, SandboxError):
        code = ErrorCode.SANDBOX_UNAVAILABLE if error.code in _MACHINE_LACKS else ErrorCode.SANDBOX_FAILED
        return Failure(code, error.message, error.hint, exit_codes.exit_code_of(code))
    if not isinstance(error, IdentityError):
        return None
    code = _IDENTITY_CODES.get(error.code, ErrorCode.INVALID_CONFIGURATION)
    return Failure(code, error.message, "", exit_codes.exit_code_of(code))


def _innermost(error: BaseException) -> BaseException:
    """Return the first error of a task group's group: the others are its consequences."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
