"""The worker's side of a workspace in memory: have it made, hold its descriptors, let it go."""

import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from toolmesh_sandbox.errors import SandboxUnavailableError
from toolmesh_sandbox.memory_folders import OUTBOX, WORK, MemoryOrder
from toolmesh_sandbox.pipes import readable
from toolmesh_sandbox.spawner_client import Spawner
from toolmesh_sandbox.workspaces import MemoryFolders, Workspace, Workspaces

_ANSWER_BYTES = 4096
_DESCRIPTORS = 4


@asynccontextmanager
async def memory_workspace(workspaces: Workspaces, spawner: Spawner, size: int, files: int) -> AsyncIterator[Workspace]:
    """A workspace and an outbox of so many bytes and files each, until the context is left.

    Raises:
        SandboxExhaustedError: every uid is in use.
        SandboxUnavailableError: the kernel refused a user namespace or a mount.
    """
    async with workspaces.new(folders=(WORK, OUTBOX)) as workspace:
        order = MemoryOrder(folder=str(workspace.host), uid=workspace.uid, size=size, files=files)
        descriptors = await _furnished(spawner, order)
        try:
            user, mounts, work, outbox = descriptors
            workspace.memory = MemoryFolders(namespaces=(user, mounts), work=work, outbox=outbox)
            yield workspace
        finally:
            workspace.memory = None
            for descriptor in descriptors:
                os.close(descriptor)


async def _furnished(spawner: Spawner, order: MemoryOrder) -> list[int]:
    with spawner.furnish(order) as control:
        await readable(control.fileno())
        said, descriptors, _flags, _address = socket.recv_fds(
            control, _ANSWER_BYTES, _DESCRIPTORS, socket.MSG_CMSG_CLOEXEC
        )
    if len(descriptors) == _DESCRIPTORS:
        return descriptors
    for descriptor in descriptors:
        os.close(descriptor)
    raise SandboxUnavailableError(
        f"a workspace in memory can't be made: {said.decode(errors='replace') or 'the process that makes it ended'}",
        "allow user namespaces and mounts in them, also for the worker's Python (on Ubuntu the sysctl "
        "kernel.apparmor_restrict_unprivileged_userns)",
        "user namespaces with tmpfs mounts",
    )
