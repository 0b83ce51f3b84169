"""Whether a server is really ready: it authenticates us and its JetStream answers."""

import asyncio
import json
from typing import Any, Final

import nats
import nats.errors
from nats.aio.client import Client

from toolmesh_broker.embedded.errors import ServerStartError
from toolmesh_broker.settings import ConnectionSettings

__all__ = ["check_ready"]

_WITHIN_S: Final = 10.0
_RETRY_S: Final = 0.02
_LOWEST_API_LEVEL: Final = 2


async def check_ready(settings: ConnectionSettings, inbox_prefix: str) -> None:
    """Connect, ask JetStream for its state, and check that its API is new enough.

    Raises:
        ServerStartError: it refuses us, does not answer in time, or is too old.
    """
    try:
        async with asyncio.timeout(_WITHIN_S):
            connection = await nats.connect(
                list(settings.servers),
                name=f"{settings.identity} health check",
                nkeys_seed=str(settings.nkey_seed_file),
                inbox_prefix=inbox_prefix,
                allow_reconnect=False,
                error_cb=_ignore,
            )
            try:
                answer = await _ask(connection)
            finally:
                await connection.close()
    except (nats.errors.Error, OSError, TimeoutError) as error:
        raise ServerStartError(f"{settings.servers[0]} is not ready: {str(error) or type(error).__name__}") from error
    level = int(answer.get("api", {}).get("level", 0))
    if level < _LOWEST_API_LEVEL:
        raise ServerStartError(
            f"the server's JetStream API has level {level}; toolmesh needs {_LOWEST_API_LEVEL} or more",
            hint="use nats-server 2.12 or newer",
        )


async def _ask(connection: Client) -> dict[str, Any]:
    while True:
        try:
            answer = await connection.request("$JS.API.INFO", timeout=_WITHIN_S)
        except nats.errors.NoRespondersError:  # listening, but JetStream still recovers its store
            await asyncio.sleep(_RETRY_S)
            continue
        content: dict[str, Any] = json.loads(answer.data)
        if "error" not in content:
            return content
        await asyncio.sleep(_RETRY_S)


async def _ignore(_: Exception) -> None:
    """The call that failed raises; a second report would only be noise."""
