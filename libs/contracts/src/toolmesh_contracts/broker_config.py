"""How any service connects to NATS."""

import re
from typing import Annotated, Self

from pydantic import AfterValidator, model_validator

from toolmesh_contracts.config_fields import ConfigModel, Text
from toolmesh_contracts.names import BROKER_SCHEMES

__all__ = ["BrokerConfig", "BrokerTls", "broker_urls"]

_URL = re.compile(rf"(?:{'|'.join(BROKER_SCHEMES)})://[^\s@/]+(?:/[^\s@]*)?")


def broker_urls(text: str) -> tuple[str, ...]:
    """Return the URLs of one cluster that are written as one text, with commas between them."""
    return tuple(part.strip() for part in text.split(","))


def _urls(text: str) -> str:
    if not all(map(_URL.fullmatch, broker_urls(text))):
        raise ValueError(
            "a broker URL is needed, such as nats://127.0.0.1:4222 or tls://broker.example.com:4222, without user or "
            "password (these have keys of their own)"
        )
    return text


class BrokerTls(ConfigModel):
    """Files for an encrypted connection; relative paths start at the configuration file's folder."""

    ca: Text | None = None
    """Certificates (PEM) that sign the broker's; None: the system's."""
    cert: Text | None = None
    """This client's certificate (PEM)."""
    key: Text | None = None
    """This client's private key (PEM)."""

    @model_validator(mode="after")
    def _pair(self) -> Self:
        if (self.cert is None) != (self.key is None):
            raise ValueError("`cert` and `key` belong together; give both or neither")
        return self


class BrokerConfig(ConfigModel):
    """The NATS connection: where, and as whom. At most one kind of credentials."""

    url: Annotated[str, AfterValidator(_urls)] = "nats://127.0.0.1:4222"
    """The broker; several of one cluster are separated by commas."""
    credentials_file: Text | None = None
    """A `.creds` file (JWT and seed)."""
    nkey_seed_file: Text | None = None
    """A file with an nkey seed."""
    token: Text | None = None
    """A token; better given as `${VARIABLE}`."""
    user: Text | None = None
    """A user's name; needs `password`."""
    password: Text | None = None
    """The user's password; better given as `${VARIABLE}`."""
    tls: BrokerTls | None = None
    """Files for TLS; None: TLS with the system's certificates where the URL asks for it."""

    @model_validator(mode="after")
    def _one_kind_of_credentials(self) -> Self:
        if (self.user is None) != (self.password is None):
            raise ValueError("`user` and `password` belong together; give both or neither")
        kinds = ("credentials_file", "nkey_seed_file", "token", "user")
        given = [kind for kind in kinds if getattr(self, kind) is not None]
        if len(given) > 1:
            raise ValueError(f"only one kind of credentials is possible; found {' and '.join(given)}")
        return self

    @property
    def urls(self) -> tuple[str, ...]:
        """The brokers, one by one."""
        return broker_urls(self.url)
