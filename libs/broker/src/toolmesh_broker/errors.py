"""What can go wrong between a program and the broker, as typed errors with stable codes."""

from collections.abc import Sequence

from toolmesh_contracts.errors import ErrorCode, ToolmeshError

__all__ = [
    "BrokerClosedError",
    "BrokerError",
    "BrokerPermissionError",
    "BrokerRefusedError",
    "BrokerTimeoutError",
    "BrokerUnreachableError",
    "DeadLetterMissingError",
    "InsecureConnectionError",
    "KeyExistsError",
    "LeaseLostError",
    "NoRespondersError",
    "PayloadCorruptError",
    "PayloadMissingError",
    "PayloadTooLargeError",
    "QueueFullError",
    "RevisionConflictError",
    "ServerTooOldError",
    "StreamMismatchError",
]


class BrokerError(ToolmeshError):
    """Base of all errors of this package."""


class BrokerUnreachableError(BrokerError):
    """Raised when there is no connection to the broker, or it was lost while waiting."""

    default_code = ErrorCode.BROKER_UNREACHABLE


class BrokerClosedError(BrokerUnreachableError):
    """Raised when the connection is closed, by us or by the other side, and will not come back."""


class BrokerTimeoutError(BrokerError):
    """Raised when the connection stands but no answer came in time."""

    default_code = ErrorCode.BROKER_UNREACHABLE


class NoRespondersError(BrokerError):
    """Raised when nobody listens on a request's subject, or no stream stores it."""

    default_code = ErrorCode.BROKER_UNREACHABLE

    def __init__(self, subject: str) -> None:
        super().__init__(
            f"nobody answers on {subject}", hint="start the service that listens there, or provision the stream"
        )
        self.subject = subject


class BrokerRefusedError(BrokerError):
    """Raised when the broker answers an operation with an error."""

    default_code = ErrorCode.BROKER_REFUSED


class BrokerPermissionError(BrokerRefusedError):
    """Raised when this identity may not publish or subscribe to a subject."""

    def __init__(self, operation: str, subject: str) -> None:
        super().__init__(
            f"the broker denies this identity to {operation} {subject}",
            hint="check which credentials the service was started with",
        )
        self.operation = operation
        self.subject = subject


class InsecureConnectionError(BrokerRefusedError):
    """Raised when TLS was asked for and the server does not offer it."""


class ServerTooOldError(BrokerRefusedError):
    """Raised when the server's JetStream API is older than needed; it would ignore settings silently."""

    def __init__(self, level: int, required: int, version: str) -> None:
        super().__init__(
            f"nats-server {version or 'of unknown version'} has JetStream API level {level}, needed is {required}",
            hint="use nats-server 2.12 or newer",
        )
        self.level = level
        self.required = required


class StreamMismatchError(BrokerRefusedError):
    """Raised when an existing stream or consumer is configured so that a promise would break."""

    def __init__(self, name: str, differences: Sequence[str]) -> None:
        super().__init__(
            f"{name} exists with another configuration: {'; '.join(differences)}",
            hint="change it by hand or choose another namespace; toolmesh never alters what it did not make",
        )
        self.name = name
        self.differences = tuple(differences)


class QueueFullError(BrokerError):
    """Raised when a stream's limit or the broker's disk is reached."""

    default_code = ErrorCode.RESOURCE_EXHAUSTED


class KeyExistsError(BrokerRefusedError):
    """Raised by a create whose key already has a value."""

    def __init__(self, key: str) -> None:
        super().__init__(f"key {key} already has a value")
        self.key = key


class RevisionConflictError(BrokerRefusedError):
    """Raised by an update or a delete whose key was changed by someone else."""

    def __init__(self, key: str, expected: int) -> None:
        super().__init__(f"key {key} is no longer at revision {expected}")
        self.key = key
        self.expected = expected


class LeaseLostError(BrokerRefusedError):
    """Raised when a running call's ledger entry was taken over or cancelled."""


class PayloadTooLargeError(BrokerError):
    """Raised when a message is larger than the server takes."""

    default_code = ErrorCode.RESOURCE_EXHAUSTED

    def __init__(self, size: int, limit: int, subject: str) -> None:
        super().__init__(
            f"a message of {size} bytes to {subject} is over the broker's limit of {limit}",
            hint="large contents go through the payload store",
        )
        self.size = size
        self.limit = limit


class PayloadMissingError(BrokerError):
    """Raised when a stored payload is not, or no longer, there."""

    default_code = ErrorCode.PAYLOAD_MISSING


class PayloadCorruptError(BrokerError):
    """Raised when a stored payload is cut short or doesn't match its SHA-256."""

    default_code = ErrorCode.PAYLOAD_CORRUPT


class DeadLetterMissingError(BrokerError):
    """Raised when no dead letter has the id that was asked for."""

    default_code = ErrorCode.INVALID_REQUEST

    def __init__(self, identity: str, pools: Sequence[str]) -> None:
        super().__init__(
            f"no dead letter of pool {' or '.join(pools)} has the id {identity!r}",
            hint="`toolmesh dead list` shows those that there are",
        )
