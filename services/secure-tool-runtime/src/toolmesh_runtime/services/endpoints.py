"""Which URLs tools may have called, and at which addresses: the worker's configuration decides, not the tool's file."""

import asyncio
import ipaddress
import socket
from collections.abc import Sequence
from typing import Final
from urllib.parse import SplitResult, unquote, urlsplit

from toolmesh_contracts.errors import ErrorCode, ToolmeshError
from toolmesh_contracts.worker_config import ServiceEndpoint

__all__ = ["ServiceRefusedError", "endpoint_secrets", "find_endpoint", "resolve"]

_PORTS: Final = {"http": 80, "https": 443}
_RESOLVE_S: Final = 10.0


class ServiceRefusedError(ToolmeshError):
    """Raised when a service's URL or address is not one that the worker may call."""

    default_code = ErrorCode.PERMISSION_DENIED


def find_endpoint(url: str, endpoints: Sequence[ServiceEndpoint]) -> ServiceEndpoint | None:
    """Return the endpoint whose URL is the beginning of `url`: the same origin, and a path at or below its path."""
    wanted = urlsplit(url)
    for endpoint in endpoints:
        allowed = urlsplit(endpoint.url)
        if origin(wanted) == origin(allowed) and _is_below(wanted.path, allowed.path):
            return endpoint
    return None


def endpoint_secrets(endpoint: ServiceEndpoint) -> tuple[str, ...]:
    """Return the texts of an endpoint that no log and no result may show."""
    secret = () if endpoint.signing_secret is None else (endpoint.signing_secret,)
    return (*secret, *endpoint.headers.values())


def origin(url: SplitResult) -> tuple[str, str, int]:
    """Return scheme, host and port."""
    return url.scheme, (url.hostname or "").rstrip("."), url.port or _PORTS.get(url.scheme, 0)


def _is_below(path: str, allowed: str) -> bool:
    segments = unquote(path).split("/")
    if {".", ".."} & set(segments) or "\\" in unquote(path):
        return False
    base = allowed.rstrip("/")
    return path in {base, allowed} or path.startswith(f"{base}/")


async def resolve(url: str, endpoint: ServiceEndpoint) -> list[str]:
    """Return the addresses of a URL's host, to which the request then goes whatever a second look-up would say.

    Raises:
        ServiceRefusedError: it has none, or one that is not public, and the endpoint is not `private`.
    """
    _, host, port = origin(urlsplit(url))
    try:
        async with asyncio.timeout(_RESOLVE_S):
            found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError, TimeoutError) as error:
        message = f"the service's host {host!r} can't be found"
        raise ServiceRefusedError(message, code=ErrorCode.TOOL_NOT_AVAILABLE) from error
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
    if not endpoint.private and not all(map(_is_public, addresses)):
        raise ServiceRefusedError(
            f"the service's host {host!r} has an address that is not public",
            hint="an operator allows that by `private: true` beside the service in the worker's configuration",
        )
    return addresses


def _is_public(address: str) -> bool:
    parsed = ipaddress.ip_address(address.partition("%")[0])
    mapped = parsed.ipv4_mapped if isinstance(parsed, ipaddress.IPv6Address) else None
    plain = mapped or parsed
    return plain.is_global and not plain.is_multicast
