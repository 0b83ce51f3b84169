"""An embedded server of one test's own, and what tests look at from outside."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import nats
from nats.aio.client import Client

from toolmesh_broker.embedded import EmbeddedServer, EmbeddedSettings
from toolmesh_broker.identities import Executor, Identity, Operator, Worker
from toolmesh_broker.settings import ConnectionSettings
from toolmesh_contracts.subjects import Subjects

NAMESPACE = "test"
SUBJECTS = Subjects(NAMESPACE)
POOLS = ("alpha", "beta")
IDENTITIES: tuple[Identity, ...] = (
    Executor("one"),
    Executor("two"),
    Operator(),
    Worker("alpha", "w1"),
    Worker("alpha", "w2"),
    Worker("beta", "w1"),
)


def embedded_broker(
    folder: Path, identities: tuple[Identity, ...] = IDENTITIES
) -> AbstractAsyncContextManager[EmbeddedServer]:
    """Start a server for two pools."""
    settings = EmbeddedSettings(data_folder=folder, namespace=NAMESPACE, pools=POOLS, identities=identities)
    return EmbeddedServer.start(settings)


async def connect_plainly(settings: ConnectionSettings, errors: list[str] | None = None) -> Client:
    """Connect with nats-py alone, without what toolmesh adds; asynchronous errors go to `errors`."""

    async def note(error: Exception) -> None:
        if errors is not None:
            errors.append(str(error))

    return await nats.connect(
        list(settings.servers),
        nkeys_seed=str(settings.nkey_seed_file),
        inbox_prefix=SUBJECTS.inbox_prefix(settings.identity),
        allow_reconnect=False,
        connect_timeout=5,
        error_cb=note,
    )


async def eventually(condition: Callable[[], bool], what: str, deadline_s: float = 10.0) -> None:
    """Poll until `condition` holds."""
    clock = asyncio.get_running_loop().time
    deadline = clock() + deadline_s
    while not condition():
        assert clock() < deadline, f"not within {deadline_s} s: {what}"
        await asyncio.sleep(0.02)
