"""What toolmesh needs of a NATS server."""

from collections.abc import Mapping
from typing import Any

from toolmesh_broker.errors import BrokerRefusedError, ServerTooOldError

__all__ = ["check_server"]

_REQUIRED_API_LEVEL = 2
_MIN_MAX_PAYLOAD = 1024 * 1024
"""Bytes; a dead letter's body of 512 KiB is a third longer in it."""


def check_server(info: Mapping[str, Any], max_payload: int, version: str) -> None:
    """Refuse a server that can't do what toolmesh needs.

    Args:
        info: The answer of `$JS.API.INFO`.
        max_payload: The server's limit for one message in bytes.
        version: The server's own version, for the message.

    Raises:
        ServerTooOldError: its JetStream API is older than level 2.
        BrokerRefusedError: it denies JetStream, or takes only messages that are too small.
    """
    if refusal := info.get("error"):
        raise BrokerRefusedError(f"the broker denies JetStream: {refusal.get('description')}")
    level = int(info.get("api", {}).get("level", 0))
    if level < _REQUIRED_API_LEVEL:
        raise ServerTooOldError(level, _REQUIRED_API_LEVEL, version)
    if max_payload < _MIN_MAX_PAYLOAD:
        raise BrokerRefusedError(
            f"the broker's max_payload is {max_payload} bytes, needed are {_MIN_MAX_PAYLOAD}",
            hint="raise max_payload in the server's configuration",
        )
