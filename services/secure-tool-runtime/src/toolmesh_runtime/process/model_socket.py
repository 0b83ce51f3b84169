"""How a tool reaches the model: through a descriptor that it was given, or a socket in its workspace."""

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Final

from toolmesh_runtime.process.model_lines import AskModel, talk
from toolmesh_sandbox.workspaces import Workspace

__all__ = ["model_descriptor", "model_socket"]

_MAX_CONNECTIONS: Final = 8
_PACKET_BYTES: Final = 16

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
                asked = await asyncio.get_running_loop().sock_recv(ours, _PACKET_BYTES)
                return _give(ours) if asked else None
            except OSError:  # the tool has gone away, or has used up what its user may have
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

        async def accepted() -> socket.socket | None:
            connection, _ = await asyncio.get_running_loop().sock_accept(listener)
            return connection

        async with _serving(accepted, ask):
            yield


def _bind(listener: socket.socket, folder: Path, name: str) -> None:
    """Bind below an open folder: a path of more than 107 bytes fits no socket address."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        listener.bind(f"/proc/self/fd/{descriptor}/{name}")
    finally:
        os.close(descriptor)


def _give(dispenser: socket.socket) -> socket.socket:
    """Send one end of a new connection, and return the other."""
    ours, theirs = socket.socketpair()
    with theirs:
        try:
            socket.send_fds(dispenser, [b"1"], [theirs.fileno()])
        except OSError:
            ours.close()
            raise
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
