"""Connection settings as nats-py wants them."""

import random
import ssl
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from nats.aio.client import Server

from toolmesh_broker.errors import BrokerRefusedError
from toolmesh_broker.settings import ConnectionSettings, TlsSettings
from toolmesh_contracts.names import BROKER_SCHEMES

__all__ = ["client_options", "next_server", "requires_tls"]

_RECONNECT_FIRST_S = 0.1
_RECONNECT_MOST_S = 5.0
_DIAL_TIMEOUT_S = 5
_MAX_OUTSTANDING_PINGS = 2


def requires_tls(settings: ConnectionSettings) -> bool:
    """Tell whether credentials may only be sent over TLS."""
    return settings.tls is not None or any(urlsplit(url).scheme == "tls" for url in settings.servers)


def client_options(settings: ConnectionSettings, inbox_prefix: str) -> dict[str, Any]:
    """Return the arguments of nats-py's `connect()`, without the callbacks.

    Raises:
        BrokerRefusedError: no server, an unknown URL scheme, more than one kind of credential, or unreadable TLS files.
    """
    if not settings.servers:
        raise BrokerRefusedError("no broker URL is given", hint="set one such as nats://127.0.0.1:4222")

    for url in settings.servers:
        if urlsplit(url).scheme not in BROKER_SCHEMES:
            raise BrokerRefusedError(
                f"broker URL {_without_userinfo(url)!r} has no known scheme", hint="use nats:// or tls://"
            )

    options: dict[str, Any] = {
        "servers": list(settings.servers),
        "name": settings.identity,
        "inbox_prefix": inbox_prefix,
        "max_reconnect_attempts": -1,
        "reconnect_to_server_handler": next_server,
        "reconnect_time_wait": _RECONNECT_FIRST_S,
        "connect_timeout": _DIAL_TIMEOUT_S,
        "ping_interval": settings.ping_interval_s,
        "max_outstanding_pings": _MAX_OUTSTANDING_PINGS,
        **_credentials(settings),
    }
    if requires_tls(settings):
        options["tls"] = _tls_context(settings.tls or TlsSettings())
    return options


def next_server(servers: list[Server], _info: Mapping[str, Any]) -> tuple[Server, float]:
    """Choose the server tried least and a delay with full jitter: up to 0.1 s, doubling, never over 5 s."""
    fewest = min(server.reconnects for server in servers)
    server = random.choice([one for one in servers if one.reconnects == fewest])  # noqa: S311 - spreads load, hides nothing
    most = min(_RECONNECT_MOST_S, _RECONNECT_FIRST_S * 2 ** min(fewest, 10))
    return server, random.uniform(0, most)  # noqa: S311 - spreads load, hides nothing


def _credentials(settings: ConnectionSettings) -> dict[str, Any]:
    kinds: dict[str, dict[str, Any]] = {}
    if settings.user is not None:
        kinds["user and password"] = {"user": settings.user, "password": settings.password or ""}
    if settings.token is not None:
        kinds["token"] = {"token": settings.token}
    if settings.credentials_file is not None:
        kinds["credentials file"] = {"user_credentials": str(settings.credentials_file)}
    if settings.nkey_seed_file is not None:
        kinds["nkey seed file"] = {"nkeys_seed": str(settings.nkey_seed_file)}

    if len(kinds) > 1:
        raise BrokerRefusedError(f"several broker credentials are given: {', '.join(kinds)}", hint="give one")
    for path in (settings.credentials_file, settings.nkey_seed_file):
        if path is not None and not path.is_file():
            raise BrokerRefusedError(f"broker credential {path} is no file", hint="check the path")
    return next(iter(kinds.values()), {})


def _tls_context(tls: TlsSettings) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=str(tls.ca_file) if tls.ca_file else None)
        if tls.certificate_file is not None:
            context.load_cert_chain(str(tls.certificate_file), str(tls.key_file) if tls.key_file else None)
    except OSError as error:  # ssl.SSLError is one
        named = ", ".join(str(path) for path in (tls.ca_file, tls.certificate_file, tls.key_file) if path)
        raise BrokerRefusedError(f"TLS files {named} can't be used: {error}", hint="give readable PEM files") from error
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def _without_userinfo(url: str) -> str:
    return url.rsplit("@", 1)[-1]
