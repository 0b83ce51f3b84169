"""Signs of life of workers and executors, in a bucket that lives in the broker's memory."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from typing import Final

from toolmesh_broker.errors import BrokerError
from toolmesh_broker.ports import Broker, Deleted, InitialDone
from toolmesh_broker.task_scope import task_scope
from toolmesh_contracts.envelopes.catalog import Heartbeat
from toolmesh_contracts.errors import ToolmeshError
from toolmesh_contracts.wire import decode, encode

__all__ = ["EXECUTORS_POOL", "beating", "read_heartbeats"]

_log = logging.getLogger(__name__)

EXECUTORS_POOL: Final = "_executors"
_TTL_S: Final = 10.0
_INTERVAL_S: Final = 3.0


@contextlib.asynccontextmanager
async def beating(
    broker: Broker, heartbeat: Callable[[], Heartbeat], *, interval_s: float = _INTERVAL_S, ttl_s: float = _TTL_S
) -> AsyncIterator[None]:
    """Publish `heartbeat()` every few seconds inside the block, and take it away at its end."""
    keyvalue = broker.keyvalue(broker.subjects.heartbeat_bucket())
    first = heartbeat()
    key = broker.subjects.heartbeat_key(first.pool, first.instance)

    async def beat() -> None:
        while True:
            try:
                await keyvalue.put(key, encode(heartbeat()), ttl_s)
            except BrokerError as error:
                _log.debug("heartbeat not written: %s", error)
            await asyncio.sleep(interval_s)

    async with task_scope() as group:
        task = group.create_task(beat())
        try:
            yield
        finally:
            task.cancel()
            with contextlib.suppress(BrokerError, TimeoutError):
                async with asyncio.timeout(interval_s):
                    await keyvalue.delete(key)


async def read_heartbeats(broker: Broker) -> list[Heartbeat]:
    """Return all that beat now; entries that can't be read are left out."""
    keyvalue = broker.keyvalue(broker.subjects.heartbeat_bucket())
    found: dict[str, Heartbeat] = {}
    async with keyvalue.watch() as watch:
        async for change in watch:
            if isinstance(change, InitialDone):
                break
            if isinstance(change, Deleted):
                found.pop(change.key, None)
                continue
            try:
                found[change.key] = decode(Heartbeat, change.value)
            except ToolmeshError as error:
                _log.warning("heartbeat %s can't be read: %s", change.key, error)
    return list(found.values())
