"""A client of the in-memory broker, or of a real one, with keys and tokens of a development issuer."""

import asyncio
import contextlib
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from tests.support.brokers import NAMESPACE
from tests.support.scripted_worker import Behaviour, ScriptedWorker, scripted_worker

from toolmesh_broker.memory.broker import MemoryBroker
from toolmesh_broker.memory.hub import MemoryHub
from toolmesh_broker.settings import ConnectionSettings
from toolmesh_client import Client, ClientSettings, Patience, client_over
from toolmesh_client.tokens import development_tokens
from toolmesh_identity.development import DevelopmentIssuer

__all__ = ["NAMESPACE", "QUICK", "client_settings", "memory_client", "memory_mesh", "until", "worker_broker"]

EXECUTOR = "executor-1"

QUICK = Patience(
    queue_s=30.0,
    grace_s=0.2,
    queued_look_s=0.1,
    longest_look_s=0.2,
    running_look_s=0.1,
    dead_look_s=0.05,
    dead_s=0.3,
    cancel_repeat_s=0.05,
    close_s=2.0,
)
"""Looks often, so that tests need not wait."""


def client_settings(
    folder: Path,
    *,
    servers: tuple[str, ...] = ("nats://127.0.0.1:1",),
    connection: ConnectionSettings | None = None,
    executor: str = EXECUTOR,
    patience: Patience = QUICK,
    scopes: tuple[str, ...] = ("*",),
    **more: Any,
) -> ClientSettings:
    """Settings whose keys and tokens a development issuer in `folder` makes."""
    issuer = DevelopmentIssuer.create_or_load(folder / "keys")
    connection = connection or ConnectionSettings(
        servers=servers, namespace=NAMESPACE, identity=f"executor__{executor}"
    )
    return ClientSettings(
        executor=executor,
        connection=connection,
        signing_key=issuer.executor_key(),
        tokens=more.pop("tokens", None)
        or development_tokens(issuer.folder, "ada", scopes, namespace=connection.namespace),
        sealing_keys={"default": issuer.sealing_public_key("default")},
        patience=patience,
        **more,
    )


@contextlib.asynccontextmanager
async def memory_client(folder: Path, **changes: Any) -> AsyncIterator[tuple[MemoryHub, Client]]:
    """A client over a fresh in-memory hub."""
    async with MemoryHub.running(NAMESPACE) as hub:
        settings = client_settings(folder, **changes)
        async with client_over(worker_broker(hub, settings.connection.identity), settings) as client:
            yield hub, client


@contextlib.asynccontextmanager
async def memory_mesh(
    folder: Path,
    tools: Mapping[str, Behaviour],
    *,
    slots: int = 8,
    entries: Mapping[str, Mapping[str, Any]] | None = None,
    connection: type[MemoryBroker] = MemoryBroker,
    **changes: Any,
) -> AsyncIterator[tuple[MemoryHub, Client, ScriptedWorker]]:
    """A client and a worker of one fresh in-memory hub; the client knows the worker's tools."""
    settings = client_settings(folder, **changes)
    async with (
        MemoryHub.running(NAMESPACE) as hub,
        scripted_worker(worker_broker(hub), tools, slots=slots, entries=entries) as worker,
        client_over(connection(hub, settings.connection.identity), settings) as client,
    ):
        yield hub, client, worker


def worker_broker(hub: MemoryHub, identity: str = "worker") -> MemoryBroker:
    """Another connection to the same hub."""
    return MemoryBroker(hub, identity)


async def until(holds: Callable[[], bool] | Callable[[], Awaitable[bool]], what: str = "it") -> None:
    """Waits, at most 10 s, until `holds()`."""

    async def asked() -> bool:
        answer = holds()
        return bool(await answer) if inspect.isawaitable(answer) else bool(answer)

    try:
        async with asyncio.timeout(10):
            while not await asked():
                await asyncio.sleep(0.01)
    except TimeoutError:
        raise AssertionError(f"{what} did not come true within 10 s") from None
