"""How to reach a broker and who to be there."""

from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["ConnectionSettings", "TlsSettings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsSettings:
    """Verifies the server and, with a certificate of our own, lets it verify us (mutual TLS)."""

    ca_file: Path | None = None
    """PEM of the authorities to trust; None trusts the system's."""
    certificate_file: Path | None = None
    key_file: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionSettings:
    """Everything that connecting needs. At most one kind of credential is given."""

    servers: tuple[str, ...]
    """URLs such as `nats://127.0.0.1:4222` or `tls://broker.example:4222`."""
    namespace: str
    identity: str
    """Unique per process: names the connection and its private inbox."""
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    credentials_file: Path | None = None
    """A `.creds` file: a user's JWT and seed."""
    nkey_seed_file: Path | None = None
    tls: TlsSettings | None = None
    """None means no TLS, unless a URL begins with `tls://`."""
    connect_timeout_s: float = 10.0
    """Seconds until the first connection is given up. Later ones are tried for ever."""
    ping_interval_s: float = 6.0
    """A half-open connection ends after three of these, 18 s, with two pings unanswered."""
