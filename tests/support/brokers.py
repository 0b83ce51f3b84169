"""Opens the real broker or its in-memory twin, so that one suite runs over both."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.nats_server import NatsServerProcess, nats_server

from toolmesh_broker.jetstream.broker import JetStreamBroker, connect
from toolmesh_broker.jetstream.layout import LayoutSettings
from toolmesh_broker.memory.broker import MemoryBroker
from toolmesh_broker.memory.hub import MemoryHub
from toolmesh_broker.ports import Broker, OutgoingInvocation
from toolmesh_broker.settings import ConnectionSettings
from toolmesh_contracts.ids import new_invocation_id
from toolmesh_contracts.names import Lane
from toolmesh_contracts.subjects import Subjects

BROKER_KINDS = ("memory", "jetstream")
NAMESPACE = "contract"
POOL = "default"
ACK_WAIT_S = 1.0


@dataclass(frozen=True)
class Brokers:
    """Opens connections to one broker."""

    connect: Callable[[str], AbstractAsyncContextManager[Broker]]


@contextlib.asynccontextmanager
async def brokers_of_kind(
    kind: str, folder: Path, *, max_queued_per_tenant: int = 1000, ack_wait_s: float = ACK_WAIT_S
) -> AsyncIterator[Brokers]:
    """A provisioned broker of the given kind, by default with a short ack_wait."""
    if kind == "memory":
        async with MemoryHub.running(
            NAMESPACE, ack_wait_s=ack_wait_s, max_queued_per_tenant=max_queued_per_tenant
        ) as hub:

            @contextlib.asynccontextmanager
            async def open_memory(identity: str) -> AsyncIterator[Broker]:
                yield MemoryBroker(hub, identity)

            yield Brokers(open_memory)
        return

    layout = LayoutSettings(ack_wait_s=ack_wait_s, max_queued_per_tenant=max_queued_per_tenant)
    async with nats_server(folder) as server, provisioned_jetstream(server, layout):

        @contextlib.asynccontextmanager
        async def open_jetstream(identity: str) -> AsyncIterator[Broker]:
            async with connect(jetstream_settings(server, identity)) as broker:
                yield broker

        yield Brokers(open_jetstream)


@contextlib.asynccontextmanager
async def provisioned_jetstream(
    server: NatsServerProcess, layout: LayoutSettings | None = None
) -> AsyncIterator[JetStreamBroker]:
    """A connection that has made everything the namespace needs, and keeps it."""
    async with (
        connect(jetstream_settings(server, "provisioner")) as broker,
        broker.provisioned([POOL], layout or LayoutSettings(ack_wait_s=ACK_WAIT_S)),
    ):
        yield broker


def jetstream_settings(server: NatsServerProcess, identity: str, **more: Any) -> ConnectionSettings:
    """Settings for a server without credentials."""
    return ConnectionSettings(servers=(server.url,), namespace=NAMESPACE, identity=identity, **more)


def outgoing(
    body: bytes = b"{}", *, user: str = "ada", lane: Lane = Lane.NORMAL, seconds: float = 60, invocation: str = ""
) -> OutgoingInvocation:
    """An invocation that is due in some seconds."""
    return OutgoingInvocation(
        pool=POOL,
        subject=Subjects(NAMESPACE).invoke(POOL, lane, "agent", user),
        invocation=invocation or new_invocation_id(),
        body=body,
        deadline_ms=deadline_in(seconds),
    )


def deadline_in(seconds: float) -> int:
    """Unix time in milliseconds."""
    return int((time.time() + seconds) * 1000)


async def eventually(holds: Callable[[], Any], within_s: float = 10) -> None:
    """Poll until `holds()` (which may be awaitable) is true."""
    async with asyncio.timeout(within_s):
        while True:
            outcome = holds()
            if asyncio.iscoroutine(outcome):
                outcome = await outcome
            if outcome:
                return
            await asyncio.sleep(0.02)
