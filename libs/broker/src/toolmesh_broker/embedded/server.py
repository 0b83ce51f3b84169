"""A nats-server that belongs to this program: found, configured, started, watched, restarted and stopped."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from toolmesh_broker.credentials import load_or_create_nkey
from toolmesh_broker.embedded.binary import ServerBinary, find_server_binary
from toolmesh_broker.embedded.config_file import Durability, ServerConfig, render_config
from toolmesh_broker.embedded.data_folder import DataFolder, lock_folder, write_private
from toolmesh_broker.embedded.descriptor import RunningBroker, write_descriptor
from toolmesh_broker.embedded.errors import ServerStartError
from toolmesh_broker.embedded.last_port import free_last_port
from toolmesh_broker.embedded.process import ServerExit, ServerProcess
from toolmesh_broker.errors import BrokerError
from toolmesh_broker.identities import Identity, Provisioner, Worker
from toolmesh_broker.jetstream.connection import open_connection
from toolmesh_broker.settings import ConnectionSettings
from toolmesh_contracts.subjects import Subjects

__all__ = ["EmbeddedServer", "EmbeddedSettings"]

_GIBIBYTE: Final = 1024**3


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedSettings:
    """What to start."""

    data_folder: Path
    """Made private to this user; everything the server keeps is below it."""
    namespace: str
    pools: tuple[str, ...]
    """Pools that executors may call; the workers' own pools are added."""
    identities: tuple[Identity, ...] = ()
    """Who will connect, besides the provisioner. Keys are made at the first start and kept."""
    durability: Durability = Durability.FAST
    max_store_bytes: int = 16 * _GIBIBYTE
    binary: ServerBinary | None = None
    """None: look for it."""


class EmbeddedServer:
    """A running server; make it with `start`."""

    def __init__(
        self,
        settings: EmbeddedSettings,
        folder: DataFolder,
        lock: int,
        binary: ServerBinary,
        keys: Mapping[Identity, str],
    ) -> None:
        self._settings = settings
        workers = [one for one in settings.identities if isinstance(one, Worker)]
        self._pools = tuple(sorted({*settings.pools, *(worker.pool for worker in workers)}))
        self._subjects = Subjects(settings.namespace)
        self._folder = folder
        self._lock = lock
        self._binary = binary
        self._keys = keys
        self._port = free_last_port(folder)
        self._pid = 0
        self._process: ServerProcess | None = None

    @classmethod
    @asynccontextmanager
    async def start(cls, settings: EmbeddedSettings) -> AsyncIterator["EmbeddedServer"]:
        """Start a server that is ready when the block begins and gone when it ends.

        It also goes when this program dies, however it dies.

        Raises:
            ServerBinaryError: there is no nats-server, or none that may be used.
            DataFolderError: the data folder can't be made private or written.
            DataFolderInUseError: another server uses it.
            CredentialsError: a kept key file is unusable.
            ServerStartError: the server does not come up.
        """
        binary = settings.binary
        if binary is None:
            binary = await asyncio.to_thread(find_server_binary)
        folder = DataFolder(settings.data_folder.absolute())
        folder.prepare()
        async with lock_folder(folder) as lock:
            identities = sorted({Provisioner(), *settings.identities}, key=lambda one: one.name)
            keys = {one: load_or_create_nkey(folder.seed_file(one)).public for one in identities}
            server = cls(settings, folder, lock, binary, keys)
            try:
                await server._run_on_last_port_or_free_one()
                yield server
            finally:
                folder.descriptor.unlink(missing_ok=True)
                await server._stop()

    @property
    def url(self) -> str:
        """Where it listens; the same after a restart, and after a new start unless the port was taken meanwhile."""
        return f"nats://127.0.0.1:{self._port}"

    @property
    def pid(self) -> int:
        """Process id of the server itself."""
        return self._pid

    @property
    def binary(self) -> ServerBinary:
        """What runs."""
        return self._binary

    @property
    def log_file(self) -> Path:
        """The server's log."""
        return self._folder.server_log

    def connection(self, identity: Identity) -> ConnectionSettings:
        """Return how to connect as `identity`.

        Raises:
            CredentialsError: the server was started without that identity.
        """
        return self._seen_from_outside().connection(identity)

    async def wait_exited(self) -> ServerExit:
        """Wait until the server process ends, by a crash or by `restart`."""
        assert self._process is not None  # noqa: S101 - set before anyone sees this object
        return await self._process.wait()

    async def restart(self) -> None:
        """Stop the server if it still runs, and start it with the same port, keys and data.

        Raises:
            ServerStartError: it does not come up again.
        """
        await self._stop()
        await self._run()

    async def _run_on_last_port_or_free_one(self) -> None:
        try:
            await self._run()
        except ServerStartError:
            if self._port is None:
                raise
            # Another program may have taken the port since it was found free.
            await self._stop()
            self._port = None
            await self._run()

    async def _run(self) -> None:
        self._write_config()
        self._process = await ServerProcess.start(self._binary.path, self._folder, self._lock)
        url, self._pid = await self._process.listening()
        self._port = urlsplit(url).port
        write_private(self._folder.last_port, f"{self._port}\n")
        await self._check_ready()
        write_descriptor(self._folder, self._seen_from_outside(), self._pid)

    async def _check_ready(self) -> None:
        """Connecting proves that it authenticates us, that JetStream answers, and that its API is new enough."""
        try:
            async with open_connection(self.connection(Provisioner())):
                pass
        except BrokerError as error:
            raise ServerStartError(
                f"nats-server listens, but is not ready: {error.message}", hint=error.hint
            ) from error

    async def _stop(self) -> None:
        if self._process is not None:
            await self._process.stop()

    def _write_config(self) -> None:
        config = ServerConfig(
            subjects=self._subjects,
            pools=self._pools,
            keys=self._keys,
            store_folder=self._folder.store,
            ports_folder=self._folder.ports,
            log_file=self._folder.server_log,
            port=self._port,
            max_store_bytes=self._settings.max_store_bytes,
            durability=self._settings.durability,
        )
        write_private(self._folder.config, render_config(config))

    def _seen_from_outside(self) -> RunningBroker:
        names = tuple(one.name for one in self._keys)
        return RunningBroker(self.url, self._settings.namespace, self._pools, names, self._folder.root)
