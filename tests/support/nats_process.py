"""A nats-server process that can be killed, paused and started again; it dies with the test."""

import asyncio
import contextlib
import json
import os
import signal
import sysconfig
from collections.abc import Mapping, Sequence
from pathlib import Path

_READY_DEADLINE_S = 15.0
_END_DEADLINE_S = 5.0
_DIES_WITH_PARENT = ("setpriv", "--pdeathsig", "KILL", "--")
BINARY = Path(sysconfig.get_path("scripts")) / "nats-server"


class NatsProcess:
    """The process below whatever configuration; every wait is bounded."""

    def __init__(self, folder: Path, prefix: Sequence[str] = ()) -> None:
        self._folder = folder
        self._prefix = tuple(prefix)
        self._process: asyncio.subprocess.Process | None = None

    @property
    def pid(self) -> int:
        """Process id of the last start."""
        assert self._process is not None
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether it was started and has not ended; a paused one runs."""
        return self._process is not None and self._process.returncode is None

    @property
    def ports(self) -> Path:
        """Where the configuration has to let the server write its ports."""
        return self._folder / "ports"

    @property
    def log(self) -> Path:
        """What the server says."""
        return self._folder / "server.log"

    async def launch(self, config: Path) -> Mapping[str, Sequence[str]]:
        """Start the server, wait until it listens, and return its URLs by protocol."""
        assert not self.running, "it runs already"
        self.ports.mkdir(parents=True, exist_ok=True)
        for stale in self.ports.iterdir():
            stale.unlink()
        with self.log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *self._prefix, *_DIES_WITH_PARENT, str(BINARY), "-c", str(config), stdout=log, stderr=log
            )
        async with asyncio.timeout(_READY_DEADLINE_S):
            while True:
                assert self.running, self.log.read_text(errors="replace")[-3000:]
                for written in self.ports.glob("*.ports"):
                    # Written in place, so it may be seen before it is whole.
                    with contextlib.suppress(ValueError):
                        urls: Mapping[str, Sequence[str]] = json.loads(written.read_text())
                        return urls
                await asyncio.sleep(0.01)

    async def kill(self) -> None:
        """End the server as a crash does: SIGKILL, nothing flushed."""
        await self._end(signal.SIGKILL)

    async def stop(self) -> None:
        """End the server in an orderly way."""
        await self._end(signal.SIGTERM)

    async def pause(self) -> None:
        """Stop the process without closing its sockets: what a half-open connection looks like."""
        os.kill(self.pid, signal.SIGSTOP)
        async with asyncio.timeout(_END_DEADLINE_S):
            while not _is_stopped(self.pid):
                await asyncio.sleep(0.001)

    def resume(self) -> None:
        """Let a paused server run on."""
        os.kill(self.pid, signal.SIGCONT)

    async def _end(self, how: signal.Signals) -> None:
        if self._process is None or not self.running:
            return
        self._process.send_signal(how)
        try:
            async with asyncio.timeout(_END_DEADLINE_S):
                await self._process.wait()
        except TimeoutError:
            self._process.kill()
            await self._process.wait()


def _is_stopped(pid: int) -> bool:
    states = [(task / "stat").read_text().rpartition(")")[2].split()[0] for task in Path(f"/proc/{pid}/task").iterdir()]
    return all(state in "TtXZ" for state in states)
