"""A real nats-server of one test's own: loopback, a port without a race, a store below the test's folder."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from tests.support.nats_process import NatsProcess


class NatsServerProcess(NatsProcess):
    """One server process that can be killed and started again with the same store and port."""

    def __init__(self, folder: Path, extra: str = "", *, jetstream: bool = True) -> None:
        super().__init__(folder)
        self.extra = extra
        self.port = -1
        self._folder = folder
        self._jetstream = jetstream

    @property
    def url(self) -> str:
        """Where it listens; the same after a restart."""
        return f"nats://127.0.0.1:{self.port}"

    async def start(self) -> None:
        """Start the server and wait until it listens."""
        config = self._folder / "nats.conf"
        self._folder.mkdir(parents=True, exist_ok=True)
        config.write_text(
            f"listen: 127.0.0.1:{self.port}\n"
            f'ports_file_dir: "{self.ports}"\n'
            + (f'jetstream {{ store_dir: "{self._folder / "store"}" }}\n' if self._jetstream else "")
            + f"{self.extra}\n"
        )
        urls = await self.launch(config)
        self.port = int(urls["nats"][0].rsplit(":", 1)[1])


@contextlib.asynccontextmanager
async def nats_server(folder: Path, extra: str = "", *, jetstream: bool = True) -> AsyncIterator[NatsServerProcess]:
    """A running server; `extra` is appended to its configuration."""
    server = NatsServerProcess(folder, extra, jetstream=jetstream)
    await server.start()
    try:
        yield server
    finally:
        await server.kill()  # an orderly stop would first sync a store that nobody reads again
