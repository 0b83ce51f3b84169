"""Why a call was not accepted. What happens to an accepted call is a `CallResult`, never an exception."""

from typing import ClassVar

from toolmesh_contracts.errors import ErrorCode, ToolmeshError

__all__ = [
    "AmbiguousToolError",
    "CallNotQueuedError",
    "CallNotSignedInError",
    "ClientClosedError",
    "ClientError",
    "InvalidArgumentsError",
    "InvalidCallError",
    "NotCallableAgainError",
    "ProfileError",
    "SecretNotSealableError",
    "ToolNotFoundError",
    "TurnBusyError",
]


class ClientError(ToolmeshError):
    """Base of this package's errors."""


class ToolNotFoundError(ClientError):
    """Raised when no worker serves a tool of this name."""

    default_code: ClassVar[ErrorCode] = ErrorCode.TOOL_NOT_FOUND


class AmbiguousToolError(ClientError):
    """Raised when several pools serve a tool of this name and the call names none."""

    default_code: ClassVar[ErrorCode] = ErrorCode.INVALID_REQUEST


class InvalidArgumentsError(ClientError):
    """Raised when the arguments are no JSON object, or lack one that the tool requires."""

    default_code: ClassVar[ErrorCode] = ErrorCode.INVALID_ARGUMENTS


class InvalidCallError(ClientError):
    """Raised when something else about a call can't be sent, such as its settings or its deadline."""

    default_code: ClassVar[ErrorCode] = ErrorCode.INVALID_REQUEST


class NotCallableAgainError(ClientError):
    """Raised when a dead letter lacks what a new call of it would need."""

    default_code: ClassVar[ErrorCode] = ErrorCode.INVALID_REQUEST


class CallNotSignedInError(ClientError):
    """Raised when there is no token for a call, or it has expired."""

    default_code: ClassVar[ErrorCode] = ErrorCode.AUTHENTICATION_FAILED


class SecretNotSealableError(ClientError):
    """Raised when a call has secrets and there is no key of the pool to seal them to."""

    default_code: ClassVar[ErrorCode] = ErrorCode.INVALID_CONFIGURATION


class CallNotQueuedError(ClientError):
    """Raised when the pool's queue is full.

    Attributes:
        retry_after_s: How long to wait before another try, in seconds.
    """

    default_code: ClassVar[ErrorCode] = ErrorCode.RESOURCE_EXHAUSTED

    def __init__(self, message: str, *, retry_after_s: float) -> None:
        super().__init__(message, hint=f"try again in {retry_after_s:g} s; calls of the same user and agent share it")
        self.retry_after_s = retry_after_s


class TurnBusyError(ClientError):
    """Raised when a call's time is over before the other calls of its turn have ended."""

    default_code: ClassVar[ErrorCode] = ErrorCode.DEADLINE_EXCEEDED


class ClientClosedError(ClientError):
    """Raised when a call is made on a client whose `connect` block has ended."""

    default_code: ClassVar[ErrorCode] = ErrorCode.INTERNAL_ERROR


class ProfileError(ClientError):
    """Raised when a connection profile can't be used."""

    default_code: ClassVar[ErrorCode] = ErrorCode.INVALID_CONFIGURATION
