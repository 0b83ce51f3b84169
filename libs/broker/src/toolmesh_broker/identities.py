"""Who may connect to a broker: every process has an identity, and each identity its own key, inbox and permissions.

Identities live in NATS accounts: the streams' account (only the provisioner), one of all executors, one of operators,
one for each pool. `accounts` says why.
"""

import hashlib
from dataclasses import dataclass
from typing import Final

from toolmesh_contracts.names import join_names, validate_identifier, validate_pool

__all__ = [
    "EXECUTOR_ACCOUNT",
    "OPERATOR_ACCOUNT",
    "STREAM_ACCOUNT",
    "Executor",
    "Identity",
    "Operator",
    "Provisioner",
    "Worker",
    "pool_account",
]

STREAM_ACCOUNT: Final = "STREAMS"
EXECUTOR_ACCOUNT: Final = "EXECUTORS"
OPERATOR_ACCOUNT: Final = "OPERATORS"
_LONGEST: Final = 96
_DIGEST_CHARACTERS: Final = 32


@dataclass(frozen=True, slots=True)
class Provisioner:
    """Creates streams, consumers and buckets."""

    @property
    def name(self) -> str:
        """Name of the connection and its inbox."""
        return "provisioner"

    @property
    def account(self) -> str:
        """NATS account."""
        return STREAM_ACCOUNT


@dataclass(frozen=True, slots=True)
class Executor:
    """Calls tools: publishes invocations and takes the replies to them. `toolmesh call` is one too."""

    id: str

    def __post_init__(self) -> None:
        validate_identifier("executor", self.id)

    @property
    def name(self) -> str:
        """Name of the connection and its inbox."""
        return _identity_name("executor", self.id)

    @property
    def account(self) -> str:
        """NATS account."""
        return EXECUTOR_ACCOUNT


@dataclass(frozen=True, slots=True)
class Worker:
    """Runs the tools of one pool."""

    pool: str
    id: str

    def __post_init__(self) -> None:
        validate_pool(self.pool)
        validate_identifier("worker", self.id)

    @property
    def name(self) -> str:
        """Name of the connection and its inbox."""
        return _identity_name("worker", self.pool, self.id)

    @property
    def account(self) -> str:
        """NATS account."""
        return pool_account(self.pool)


@dataclass(frozen=True, slots=True)
class Operator:
    """Reads and removes dead letters; can call nothing."""

    @property
    def name(self) -> str:
        """Name of the connection and its inbox."""
        return "operator"

    @property
    def account(self) -> str:
        """NATS account."""
        return OPERATOR_ACCOUNT


Identity = Provisioner | Executor | Worker | Operator


def pool_account(pool: str) -> str:
    """Return the account of a pool's workers."""
    return f"POOL-{validate_pool(pool)}"


def _identity_name(role: str, *names: str) -> str:
    """Join injectively, so that no two identities ever share an inbox."""
    joined = join_names(role, *names)
    if len(joined) <= _LONGEST:
        return joined
    return f"{role}-{hashlib.sha256(joined.encode()).hexdigest()[:_DIGEST_CHARACTERS]}"
