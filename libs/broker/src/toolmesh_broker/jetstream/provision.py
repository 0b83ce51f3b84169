"""Makes the streams, consumers and buckets of a namespace, and never alters one that exists."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any

from toolmesh_broker.errors import BrokerError, StreamMismatchError
from toolmesh_broker.jetstream.api import ApiError, api_request
from toolmesh_broker.jetstream.connection import Connection
from toolmesh_broker.jetstream.layout import ACK_WAIT_ON_CLUSTER_S, LayoutSettings, StreamLayout, stream_layouts
from toolmesh_broker.task_scope import task_scope

__all__ = ["CONSUMER_NOT_FOUND", "STREAM_NOT_FOUND", "compare", "keep_provisioned", "look_up", "provision"]

_log = logging.getLogger(__name__)

STREAM_NOT_FOUND = 10059
CONSUMER_NOT_FOUND = 10014
_RACED = frozenset({10058, 10105, 10148, 10013, 10012})
"""Someone else made it between our look and our create."""
_ABSENT: tuple[Any, ...] = (None, False, 0, -1, "", [], {})
_REPLICAS = "num_replicas"
_ACK_WAIT = "ack_wait"
_UNORDERED = frozenset({"subjects"})


async def provision(
    connection: Connection, pools: Sequence[str], settings: LayoutSettings, *, tell_differences: bool = True
) -> None:
    """Make what is missing for these pools.

    Args:
        connection: An identity that may use the whole JetStream API.
        pools: The pools to make queues and payload buckets for.
        settings: What new streams are made with.
        tell_differences: Whether to log what is merely different from these settings.

    Raises:
        StreamMismatchError: something exists whose configuration breaks a promise; it is left as it is.
        BrokerError: the broker refuses or does not answer.
    """
    for layout in stream_layouts(connection.subjects, pools, settings):
        await _ensure(connection, layout, tell_differences=tell_differences)


@contextlib.asynccontextmanager
async def keep_provisioned(
    connection: Connection, pools: Sequence[str], settings: LayoutSettings
) -> AsyncIterator[None]:
    """Provision, and again after every reconnect: a restart takes away at least what was in memory."""
    await provision(connection, pools, settings)
    reconnected = asyncio.Event()

    async def again() -> None:
        while True:
            await reconnected.wait()
            reconnected.clear()
            try:
                await provision(connection, pools, settings, tell_differences=False)
            except BrokerError as error:
                _log.warning("provisioning after a reconnect failed: %s", error)

    forget = connection.on_reconnect(reconnected.set)
    async with task_scope() as group:
        task = group.create_task(again())
        try:
            yield
        finally:
            forget()
            task.cancel()


async def _ensure(connection: Connection, layout: StreamLayout, *, tell_differences: bool) -> None:
    info = await look_up(connection, f"STREAM.INFO.{layout.name}", STREAM_NOT_FOUND)
    if info is None:
        info = await _create(connection, f"STREAM.CREATE.{layout.name}", layout.config, f"STREAM.INFO.{layout.name}")
    differences = [compare(f"stream {layout.name}", layout.config, layout.promises, info["config"])]

    for consumer in layout.consumers:
        place = f"{layout.name}.{consumer.name}"
        info = await look_up(connection, f"CONSUMER.INFO.{place}", CONSUMER_NOT_FOUND)
        if info is None:
            request = {"stream_name": layout.name, "config": consumer.config, "action": "create"}
            filtered = f"CONSUMER.CREATE.{place}.{consumer.config['filter_subject']}"
            info = await _create(connection, filtered, request, f"CONSUMER.INFO.{place}")
        differences.append(compare(f"consumer {place}", consumer.config, consumer.promises, info["config"]))
    if tell_differences and (told := [difference for difference in differences if difference]):
        _log.warning("%s differs from the settings and is left as it is: %s", layout.name, "; ".join(told))


async def look_up(connection: Connection, operation: str, not_found: int) -> dict[str, Any] | None:
    """Return what an INFO operation tells, or None for a stream or consumer that is not there."""
    try:
        return await api_request(connection, operation)
    except ApiError as error:
        if error.error_code == not_found:
            return None
        raise


async def _create(connection: Connection, operation: str, request: Mapping[str, Any], look: str) -> dict[str, Any]:
    try:
        return await api_request(connection, operation, request)
    except ApiError as error:
        if error.error_code in _RACED:
            return await api_request(connection, look)
        raise


def compare(name: str, wanted: Mapping[str, Any], promises: Iterable[str], found: Mapping[str, Any]) -> str:
    """Refuse (StreamMismatchError) what breaks a promise; return what is merely different, or an empty string."""
    broken: list[str] = []
    merely: list[str] = []
    fields = dict.fromkeys([*promises, *(field for field in wanted if field != "metadata")])
    promised = set(promises)
    for field in fields:
        ours, theirs = _value(wanted, field), _value(found, field)
        if _same(field, ours, theirs):
            continue
        difference = f"{field} is {theirs!r}, expected {ours!r}"
        (broken if field in promised else merely).append(difference)
    if broken:
        raise StreamMismatchError(name, broken)
    return f"{name}: {', '.join(merely)}" if merely else ""


def _value(config: Mapping[str, Any], field: str) -> Any:
    if field.startswith("metadata."):
        return (config.get("metadata") or {}).get(field.removeprefix("metadata."))
    return config.get(field)


def _same(field: str, ours: Any, theirs: Any) -> bool:
    if field in _UNORDERED:
        return sorted(ours or ()) == sorted(theirs or ())
    if ours in _ABSENT and theirs in _ABSENT:
        return True
    if field == _REPLICAS:
        return bool(theirs >= ours)  # more of them, as an operator may have asked for, keep every promise
    if field == _ACK_WAIT:
        return bool(ours == theirs or theirs == ACK_WAIT_ON_CLUSTER_S * 1_000_000_000)  # as they go with more replicas
    return bool(ours == theirs)
