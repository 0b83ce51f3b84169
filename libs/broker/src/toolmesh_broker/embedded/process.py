"""One run of the nats-server process under its guard."""

import asyncio
import contextlib
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolmesh_broker.embedded import guard
from toolmesh_broker.embedded.data_folder import DataFolder
from toolmesh_broker.embedded.errors import ServerStartError

__all__ = ["ServerExit", "ServerProcess"]

_LISTENING_WITHIN_S: Final = 30.0
"""A large store takes seconds to recover before the server listens."""
_POLL_S: Final = 0.005
_STOPPED_WITHIN_S: Final = 8.0
"""Longer than the guard's own grace period."""
_SIGNALLED: Final = 128
_SHOWN_LINES: Final = 5


@dataclass(frozen=True, slots=True)
class ServerExit:
    """How the server ended."""

    code: int | None
    signal: int | None

    @property
    def text(self) -> str:
        """The end in words."""
        return f"exit code {self.code}" if self.signal is None else f"signal {self.signal}"


class ServerProcess:
    """A started server. `stop` must be called, also after it ended by itself."""

    def __init__(self, process: asyncio.subprocess.Process, folder: DataFolder) -> None:
        self._process = process
        self._folder = folder

    @classmethod
    async def start(cls, binary: Path, folder: DataFolder, lock: int) -> "ServerProcess":
        """Start `binary` with the folder's configuration; it inherits the descriptor `lock`.

        Raises:
            ServerStartError: the process can't be started.
        """
        for stale in folder.ports.iterdir():
            stale.unlink()
        with contextlib.suppress(FileNotFoundError):
            folder.crash_log.replace(folder.crash_log.with_suffix(".stderr.previous"))
        descriptor = os.open(folder.crash_log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        arguments = [str(os.getpid()), str(binary), "-c", str(folder.config)]
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                *("-I", "-S", guard.__file__),
                *arguments,
                stdin=asyncio.subprocess.PIPE,
                stdout=descriptor,
                stderr=descriptor,
                pass_fds=(lock,),
                env={"PATH": os.defpath},
                cwd=folder.root,
                start_new_session=True,  # the terminal's Ctrl-C is for the program, which then drains and stops us
            )
        except OSError as error:
            raise ServerStartError(f"can't start {sys.executable} to guard {binary}: {error.strerror}") from error
        finally:
            os.close(descriptor)
        return cls(process, folder)

    async def listening(self) -> tuple[str, int]:
        """Wait until the server listens; return its URL and process id.

        Raises:
            ServerStartError: it ended, or does not listen in time.
        """
        deadline = asyncio.get_running_loop().time() + _LISTENING_WITHIN_S
        while (found := self._read_ports()) is None:
            if self._process.returncode is not None:
                raise self.start_error("ended before it was ready")
            if asyncio.get_running_loop().time() > deadline:
                raise self.start_error(f"did not listen within {_LISTENING_WITHIN_S:.0f} s")
            await asyncio.sleep(_POLL_S)
        return found

    async def wait(self) -> ServerExit:
        """Wait until the server has ended."""
        code = await self._process.wait()
        if code < 0:  # the guard itself was killed, and the server with it
            return ServerExit(None, -code)
        return ServerExit(None, code - _SIGNALLED) if code > _SIGNALLED else ServerExit(code, None)

    async def stop(self) -> None:
        """Stop the server, by force if it does not end in time."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            await asyncio.wait_for(self._process.wait(), _STOPPED_WITHIN_S)
        except TimeoutError:
            self._process.kill()
            await self._process.wait()

    def start_error(self, what: str) -> ServerStartError:
        """Return an error that ends with what the server logged last."""
        said = self._last_complaints()
        return ServerStartError(
            f"nats-server {what}" + (f": {said}" if said else ""), hint=f"its log is {self._folder.server_log}"
        )

    def _read_ports(self) -> tuple[str, int] | None:
        for path in self._folder.ports.glob("*.ports"):
            # The server writes the file in place, so it may be seen before it is whole.
            with contextlib.suppress(OSError, ValueError, KeyError, IndexError):
                return json.loads(path.read_bytes())["nats"][0], int(path.stem.rpartition("_")[2])
        return None

    def _last_complaints(self) -> str:
        lines: list[str] = []
        for path in (self._folder.crash_log, self._folder.server_log):
            with contextlib.suppress(OSError):
                lines += path.read_text(errors="replace").splitlines()
        serious = [
            line for line in lines if "[FTL]" in line or "[ERR]" in line or "panic" in line or "nats-server:" in line
        ]
        return " / ".join(serious[-_SHOWN_LINES:])
