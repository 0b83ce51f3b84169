"""The mesh's broker: one of our own, kept running, or someone else's."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from typing import Final, Protocol

from toolmesh_broker.embedded import EmbeddedServer, EmbeddedSettings
from toolmesh_broker.embedded.data_folder import DataFolder, lock_folder
from toolmesh_broker.errors import BrokerError
from toolmesh_broker.identities import Identity
from toolmesh_broker.settings import ConnectionSettings
from toolmesh_cli.broker_disk import keep_writable
from toolmesh_cli.mesh_options import ExternalBroker, MeshOptions
from toolmesh_cli.terminal import Terminal
from toolmesh_contracts.broker_config import broker_urls

__all__ = ["BrokerAccess", "mesh_broker"]

_FIRST_PAUSE_S: Final = 0.2
_LONGEST_PAUSE_S: Final = 10.0
_HEALTHY_AFTER_S: Final = 30.0
_STARTS: Final = 6
"""Starts in a row that may fail, some 20 s in all, before the mesh ends."""


class BrokerAccess(Protocol):
    """Where the broker is, and how each part of the mesh connects to it."""

    @property
    def url(self) -> str:
        """Where it listens."""

    def connection(self, identity: Identity) -> ConnectionSettings:
        """How to connect as `identity`."""


@dataclass(frozen=True, slots=True)
class _External:
    broker: ExternalBroker
    namespace: str

    @property
    def url(self) -> str:
        return self.broker.url

    def connection(self, identity: Identity) -> ConnectionSettings:
        return ConnectionSettings(
            servers=broker_urls(self.broker.url),
            namespace=self.namespace,
            identity=identity.name,
            credentials_file=self.broker.credentials_file,
            nkey_seed_file=self.broker.nkey_seed_file,
        )


@contextlib.asynccontextmanager
async def mesh_broker(
    options: MeshOptions, identities: Iterable[Identity], terminal: Terminal
) -> AsyncIterator[BrokerAccess]:
    """Run an embedded broker inside the block, started again if it dies or its disk was full; or use the external one.

    Raises:
        ToolmeshError: the embedded broker does not start, or the data folder is in use.
    """
    if options.broker is not None:
        folder = DataFolder(options.data_folder)
        folder.prepare()
        async with lock_folder(folder):
            terminal.step("broker", f"is {options.broker.url}")
            terminal.warning(
                "all parts of the mesh use one credential there, so a worker can do what an executor can; "
                "docs/security.md says what keeps them apart"
            )
            yield _External(options.broker, options.namespace)
        return
    settings = EmbeddedSettings(
        data_folder=options.data_folder,
        namespace=options.namespace,
        pools=(options.pool,),
        identities=tuple(identities),
        durability=options.durability,
    )
    async with EmbeddedServer.start(settings) as server, asyncio.TaskGroup() as group:
        keepers = (
            group.create_task(_keep_running(server, terminal), name="broker keeper"),
            group.create_task(keep_writable(server, options.data_folder, terminal), name="broker disk"),
        )
        terminal.step("broker", f"listens on {server.url}")
        try:
            yield server
        finally:
            for keeper in keepers:
                keeper.cancel()
    terminal.step("broker", "stopped")


async def _keep_running(server: EmbeddedServer, terminal: Terminal) -> None:
    clock = asyncio.get_running_loop().time
    pause_s = _FIRST_PAUSE_S
    while True:
        started = clock()
        ended = await server.wait_exited()
        if clock() - started > _HEALTHY_AFTER_S:
            pause_s = _FIRST_PAUSE_S
        terminal.warning(f"the broker ended ({ended.text}); it starts again in {pause_s:g} s")
        pause_s = await _start_again(server, terminal, pause_s)
        terminal.step("broker", f"runs again on {server.url}")


async def _start_again(server: EmbeddedServer, terminal: Terminal, pause_s: float) -> float:
    """Start the server after a pause; return the pause to make the next time.

    Raises:
        BrokerError: it failed several times in a row.
    """
    for failed in range(1, _STARTS + 1):
        await asyncio.sleep(pause_s)
        pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)
        try:
            await server.restart()
        except BrokerError as error:
            if failed == _STARTS:
                raise
            terminal.warning(f"the broker does not start: {error.message}; next try in {pause_s:g} s")
        else:
            break
    return pause_s
