"""A workspace as one tar file, packed and unpacked in the sandbox: what a tool has left is nothing to touch outside."""

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from toolmesh_contracts.errors import ErrorCode, ToolmeshError
from toolmesh_sandbox.backend import Backend
from toolmesh_sandbox.policy import Policy
from toolmesh_sandbox.process import Exit
from toolmesh_sandbox.workspaces import Workspace

__all__ = ["ArchiveError", "archive", "extract"]

_LIMIT_S: Final = 30.0
_LARGEST: Final = 96 << 20
"""It passes through the worker's memory."""
_TAR: Final = ("/usr/bin/env", "tar")
_SHOWN: Final = 300


class ArchiveError(ToolmeshError):
    """Raised when a workspace can't be packed or unpacked."""

    default_code = ErrorCode.ARTIFACT_ERROR


async def archive(backend: Backend, workspace: Workspace, policy: Policy) -> bytes:
    """Return a workspace's content as a tar file; nothing for an empty one. No process of a tool may run in it.

    Raises:
        ArchiveError: there is no tar, a file can't be read, it is larger than 96 MiB, or takes too long.
        SandboxError: the sandbox can't be had.
    """
    if workspace.memory is not None:
        with os.scandir(workspace.memory.work) as entries:
            if next(entries, None) is None:
                return b""
    ended = await _tar(backend, workspace, policy, ("--create", "--sparse", "--file=-", "."), b"")
    if ended.stdout_dropped:
        raise ArchiveError(f"the archive is larger than {_LARGEST} bytes")
    return ended.stdout


async def extract(backend: Backend, workspace: Workspace, policy: Policy, data: bytes) -> None:
    """Fill an empty workspace; errors as `archive`."""
    await _tar(backend, workspace, policy, ("--extract", "--preserve-permissions", "--file=-"), data)


async def _tar(backend: Backend, workspace: Workspace, policy: Policy, options: Sequence[str], data: bytes) -> Exit:
    inside = backend.inside(workspace)
    own = replace(
        policy,
        mounts=(),
        folder=inside,
        wall_clock_s=_LIMIT_S,
        stdout_bytes=_LARGEST,
    )
    environment = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
    async with backend.start((*_TAR, *options), environment, own, workspace, data) as process:
        ended = await process.wait()
    if ended.code != 0:
        said = ended.setup_failed or ended.stderr.decode(errors="replace").strip() or f"{ended.code=} {ended.signal=}"
        raise ArchiveError(f"tar failed in the workspace: {said[:_SHOWN]}")
    return ended
