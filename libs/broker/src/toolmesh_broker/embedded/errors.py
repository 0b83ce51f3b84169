"""Errors of the embedded server; each message names the file and says what to do."""

from toolmesh_broker.errors import BrokerError
from toolmesh_contracts.errors import ErrorCode

__all__ = [
    "BrokerNotRunningError",
    "DataFolderError",
    "DataFolderInUseError",
    "EmbeddedServerError",
    "ServerBinaryError",
    "ServerStartError",
]


class EmbeddedServerError(BrokerError):
    """Base of the embedded server's errors."""

    default_code = ErrorCode.BROKER_UNREACHABLE


class ServerBinaryError(EmbeddedServerError):
    """Raised when no nats-server can be found, or the one found is not the pinned one or too old."""

    default_code = ErrorCode.BROKER_REFUSED


class DataFolderError(EmbeddedServerError):
    """Raised when the data folder can't be made private to this user, or not be written."""

    default_code = ErrorCode.INVALID_CONFIGURATION


class DataFolderInUseError(EmbeddedServerError):
    """Raised when another server already uses the data folder."""

    default_code = ErrorCode.INVALID_CONFIGURATION


class ServerStartError(EmbeddedServerError):
    """Raised when the server ended, or was not ready in time, after it was started."""


class BrokerNotRunningError(EmbeddedServerError):
    """Raised when no running broker is found in a data folder."""
