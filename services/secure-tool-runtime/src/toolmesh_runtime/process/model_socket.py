"""How a tool reaches the model: through a descriptor that it was given, or a socket in its workspace."""

import asyncio
import contextlib
import errno
import os
import select
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Final

from toolmesh_runtime.process.model_lines import AskModel, talk
from toolmesh_sandbox.workspaces import Workspace
from toolmesh_telemetry.logs import get_logger

__all__ = ["model_descriptor", "model_socket"]

_log: Final = get_logger(__name__)
_MAX_CONNECTIONS: Final = 8
_PACKET_BYTES: Final = 16
_ACCEPT_PAUSE_S: Final = 0.2
_NONE_FREE: Final = b"0"
"""Comes without a connection, in place of one."""

NextConnection = Callable[[], Awaitable[socket.socket | None]]
"""Returns our end of the next connection, or None when there will be no more."""


@contextlib.asynccontextmanager
async def model_descriptor(ask: AskModel) -> AsyncIterator[int]:
    """Give connections through a descriptor until the block ends, and yield the tool's end of it.

    It carries packets: each one that the tool's processes send is answered by one that brings a connection along. So
    the tool makes no socket, and processes that share the descriptor do not share a connection.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        ours.setblocking(False)

        async def given() -> socket.socket | None:
            try:
                while True:
                    if await asyncio.get_running_loop().sock_recv(ours, _PACKET_BYTES):
                        if connection := _give(ours):
                            return connection
                    elif _has_left(ours):
                        break
                    await asyncio.sleep(0)  # a flood of packets is always ready, and must not stop all else
            except OSError:  # the tool has gone away, or reads nothing
                pass
            with contextlib.suppress(OSError):
                ours.shutdown(socket.SHUT_RDWR)  # else whoever asks now would wait until the tool is ended
            return None

        async with _serving(given, ask):
            yield theirs.fileno()


@contextlib.asynccontextmanager
async def model_socket(workspace: Workspace, name: str, ask: AskModel) -> AsyncIterator[None]:
    """Serve the socket `name` in the workspace until the block ends.

    Raises:
        OSError: it can't be made.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.setblocking(False)
        _bind(listener, workspace.host, name)
        workspace.adopt(name)
        listener.listen()

        async with _serving(lambda: _accepted(listener), ask):
            yield


async def _accepted(listener: socket.socket) -> socket.socket:
    """Return the next connection; lack of descriptors or memory is no reason to end the call, it passes."""
    told = False
    while True:
        try:
            connection, _ = await asyncio.get_running_loop().sock_accept(listener)
        except OSError as error:
            if not told:
                _log.warning("a tool's connection to the model has to wait", reason=error.strerror or str(error))
                told = True
            await asyncio.sleep(_ACCEPT_PAUSE_S)  # it stays in the queue, so accepting fails again at once
        else:
            return connection


def _bind(listener: socket.socket, folder: Path, name: str) -> None:
    """Bind below an open folder: a path of more than 107 bytes fits no socket address."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        listener.bind(f"/proc/self/fd/{descriptor}/{name}")
    finally:
        os.close(descriptor)


def _has_left(dispenser: socket.socket) -> bool:
    """Return whether the other side will send no more; a packet without bytes looks the same to who reads it."""
    poll = select.poll()
    poll.register(dispenser, select.POLLRDHUP)
    return bool(poll.poll(0))


def _give(dispenser: socket.socket) -> socket.socket | None:
    """Send one end of a new connection, and return the other; None if there is none just now, which the tool is told.

    Raises:
        OSError: the tool can't be told.
    """
    try:
        ours, theirs = socket.socketpair()
    except OSError:  # no descriptors or memory are left for it
        dispenser.send(_NONE_FREE)
        return None
    with theirs:
        try:
            socket.send_fds(dispenser, [b"1"], [theirs.fileno()])
        except OSError as error:
            ours.close()
            if error.errno != errno.ETOOMANYREFS:  # too many are on their way to others
                raise
            dispenser.send(_NONE_FREE)
            return None
    ours.setblocking(False)
    return ours


@contextlib.asynccontextmanager
async def _serving(next_connection: NextConnection, ask: AskModel) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(_serve(next_connection, ask))
        try:
            yield
        finally:
            task.cancel()


async def _serve(next_connection: NextConnection, ask: AskModel) -> None:
    free = asyncio.Semaphore(_MAX_CONNECTIONS)
    async with asyncio.TaskGroup() as group:
        while True:
            await free.acquire()
            connection = await next_connection()
            if connection is None:
                return
            task = group.create_task(talk(connection, ask))
            task.add_done_callback(lambda _task: free.release())
