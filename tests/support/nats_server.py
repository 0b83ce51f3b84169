"""A real nats-server of one test's own: loopback, a port without a race, a store below the test's folder."""

import asyncio
import contextlib
import json
import os
import signal
import sysconfig
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

_READY_DEADLINE_S = 15.0


@dataclass
class NatsServerProcess:
    """One server process that can be killed and started again with the same store and port."""

    folder: Path
    extra: str = ""
    jetstream: bool = True
    port: int = -1
    process: asyncio.subprocess.Process | None = field(default=None, repr=False)

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    async def start(self) -> None:
        """Starts the server and waits until it has written its ports file."""
        ports = self.folder / "ports"
        ports.mkdir(parents=True, exist_ok=True)
        for stale in ports.iterdir():
            stale.unlink()

        config = self.folder / "nats.conf"
        config.write_text(
            f"listen: 127.0.0.1:{self.port}\n"
            f'ports_file_dir: "{ports}"\n'
            + (f'jetstream {{ store_dir: "{self.folder / "store"}" }}\n' if self.jetstream else "")
            + f"{self.extra}\n"
        )
        binary = Path(sysconfig.get_path("scripts")) / "nats-server"
        log = (self.folder / "server.log").open("ab")
        with log:
            self.process = await asyncio.create_subprocess_exec(str(binary), "-c", str(config), stdout=log, stderr=log)
        async with asyncio.timeout(_READY_DEADLINE_S):
            while not (written := list(ports.glob("*.ports"))):
                assert self.process.returncode is None, (self.folder / "server.log").read_text()
                await asyncio.sleep(0.01)
            text = ""
            while not text.endswith("}"):
                text = written[0].read_text().strip()
                await asyncio.sleep(0.005)
        url = json.loads(text)["nats"][0]
        self.port = int(url.rsplit(":", 1)[1])

    async def kill(self) -> None:
        """Ends the server as a crash does: SIGKILL, nothing flushed."""
        await self._end(signal.SIGKILL)

    async def stop(self) -> None:
        """Ends the server in an orderly way."""
        await self._end(signal.SIGTERM)

    async def pause(self) -> None:
        """Stops the process without closing its sockets: what a half-open connection looks like."""
        os.kill(self.pid, signal.SIGSTOP)
        async with asyncio.timeout(5):
            while not _is_stopped(self.pid):
                await asyncio.sleep(0.001)

    def resume(self) -> None:
        """Lets a paused server run on."""
        os.kill(self.pid, signal.SIGCONT)

    async def _end(self, how: signal.Signals) -> None:
        if self.process is None or self.process.returncode is not None:
            return
        self.process.send_signal(how)
        try:
            async with asyncio.timeout(5):
                await self.process.wait()
        except TimeoutError:
            self.process.kill()
            await self.process.wait()


def _is_stopped(pid: int) -> bool:
    states = [(task / "stat").read_text().rpartition(")")[2].split()[0] for task in Path(f"/proc/{pid}/task").iterdir()]
    return all(state in "TtXZ" for state in states)


@contextlib.asynccontextmanager
async def nats_server(folder: Path, extra: str = "", *, jetstream: bool = True) -> AsyncIterator[NatsServerProcess]:
    """A running server; `extra` is appended to its configuration."""
    server = NatsServerProcess(folder, extra, jetstream)
    await server.start()
    try:
        yield server
    finally:
        await server.kill()  # an orderly stop would first sync a store that nobody reads again
