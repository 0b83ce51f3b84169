"""The worker's side of the spawner: start it, hand it launches, start it again if it dies."""

import asyncio
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import BinaryIO

from toolmesh_sandbox.errors import SandboxUnavailableError
from toolmesh_sandbox.launch import Launch
from toolmesh_sandbox.memory_folders import MemoryOrder
from toolmesh_sandbox.spawner import FURNISH, START

_PACKAGE_ROOT = str(Path(__file__).parents[1])
_PROGRAM = "import sys; sys.path.append(sys.argv[1]); from toolmesh_sandbox.spawner import main; main(int(sys.argv[2]))"
_STOP_WITHIN_S = 5.0


class Spawner:
    """Starts launches through the spawner process. Use `open_spawner`."""

    def __init__(self) -> None:
        self._orders, self._process = _start()

    def spawn(
        self, launch: Launch, given: Sequence[int], files: Sequence[bytes], joins: Sequence[int] = ()
    ) -> socket.socket:
        """Start a launch; returns the non-blocking control socket, on which its report will arrive.

        Args:
            launch: what to start.
            given: descriptors for standard input, output and error, and for what follows; they stay open here.
            files: contents of the descriptors after these.
            joins: descriptors of the user and mount namespace to start in; they stay open here.

        Raises:
            SandboxUnavailableError: the spawner can't be started again.
        """
        return self._order(START, [launch.encode(), *files], given, joins)

    def furnish(self, order: MemoryOrder) -> socket.socket:
        """Make a workspace in memory; returns the non-blocking control socket, on which its descriptors will arrive.

        Raises:
            SandboxUnavailableError: the spawner can't be started again.
        """
        return self._order(FURNISH, [order.encode()], (), ())

    def _order(
        self, kind: bytes, contents: Sequence[bytes], given: Sequence[int], joins: Sequence[int]
    ) -> socket.socket:
        mine, theirs = socket.socketpair()
        with ExitStack() as held:
            held.callback(theirs.close)
            try:
                request, *extra = [held.enter_context(_anonymous_file(content)) for content in contents]
                descriptors = [theirs.fileno(), request.fileno(), *given, *(file.fileno() for file in extra)]
                self._send(kind, [*descriptors, *joins])
            except BaseException:
                mine.close()
                raise
        mine.setblocking(False)
        return mine

    def _send(self, kind: bytes, descriptors: list[int]) -> None:
        try:
            socket.send_fds(self._orders, [kind], descriptors)
        except (BrokenPipeError, ConnectionResetError):
            self.close()
            self._orders, self._process = _start()
            try:
                socket.send_fds(self._orders, [kind], descriptors)
            except OSError as failure:
                raise SandboxUnavailableError(
                    f"the sandbox's spawner process ended twice: {failure}",
                    "look for an out-of-memory kill in the kernel's log",
                ) from failure

    def close(self) -> None:
        """End the spawner; keepers end with the control sockets of their calls."""
        self._orders.close()
        try:
            self._process.wait(_STOP_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


@asynccontextmanager
async def open_spawner() -> AsyncIterator[Spawner]:
    """A spawner process for as long as the context is open."""
    spawner = Spawner()
    try:
        yield spawner
    finally:
        await asyncio.to_thread(spawner.close)


def _start() -> tuple[socket.socket, "subprocess.Popen[bytes]"]:
    mine, theirs = socket.socketpair()
    with theirs:
        # -I -S: no environment, no site-packages code; the package's folder comes last, so nothing shadows the stdlib.
        argv = [sys.executable, "-I", "-S", "-B", "-c", _PROGRAM, _PACKAGE_ROOT, str(theirs.fileno())]
        process = subprocess.Popen(  # noqa: S603
            argv,
            env={},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            start_new_session=True,
        )
    return mine, process


def _anonymous_file(content: bytes) -> BinaryIO:
    """A file without a name, at its beginning, that holds `content`."""
    linux = sys.platform == "linux"
    file: BinaryIO = os.fdopen(os.memfd_create("toolmesh"), "w+b") if linux else tempfile.TemporaryFile()  # noqa: SIM115
    file.write(content)
    file.seek(0)
    return file
