"""Workspaces that last for a turn of an agent: kept on this worker, and stored so that another one can go on.

The call names the state in which the turn's last call left the workspace. A worker that still has that state goes on
with it; any other restores it from its copy. A state that nobody names is of no use, so nothing can be mixed up when a
turn moves between workers, or when two calls of a turn meet.
"""

import asyncio
import hashlib
import json
import os
import time
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Final

from toolmesh_broker.errors import BrokerError
from toolmesh_broker.ports import PayloadStore
from toolmesh_broker.task_scope import task_scope
from toolmesh_contracts.envelopes.invocation import Invocation
from toolmesh_contracts.envelopes.values import PayloadRef, WorkspaceCopy
from toolmesh_contracts.errors import ErrorCode, ToolmeshError
from toolmesh_contracts.ids import new_invocation_id
from toolmesh_runtime.declared.workspace_archive import archive, extract
from toolmesh_sandbox.backend import Backend
from toolmesh_sandbox.errors import SandboxError
from toolmesh_sandbox.policy import Policy
from toolmesh_sandbox.tree_removal import empty_folder
from toolmesh_sandbox.workspaces import Workspace
from toolmesh_telemetry.logs import get_logger

__all__ = ["CallWorkspace", "TurnWorkspaces", "turn_workspaces"]

_log: Final = get_logger(__name__)
_KEPT_S: Final = 300.0
"""A workspace that no call has used for so long is let go; its copy stays."""
_STORED_S: Final = 3600.0
"""A copy is kept for so long after the call that left it."""
_MOST_KEPT: Final = 32
_MOST_KEPT_BYTES: Final = 512 << 20
"""They lie in memory; the copies of those that are let go stay."""
_SWEEP_S: Final = 15.0


class WorkspaceLostError(ToolmeshError):
    """Raised when the workspace of a turn is neither here nor stored."""

    default_code = ErrorCode.PAYLOAD_MISSING


@dataclass(slots=True)
class CallWorkspace:
    """A workspace for one call.

    Attributes:
        workspace: The workspace.
        copy: How the call left it; None for a call without a turn, and while it runs.
    """

    workspace: Workspace
    copy: WorkspaceCopy | None = None


@dataclass(slots=True)
class _Kept:
    """A turn's workspace between two calls."""

    stack: AsyncExitStack
    workspace: Workspace
    copy: WorkspaceCopy | None = None
    replaced: PayloadRef | None = None
    """The copy before; of no use once a call names the one after it."""
    used_at: float = field(default_factory=time.monotonic)
    size: int = 0
    """Bytes of memory."""


class TurnWorkspaces:
    """The workspaces of one worker's turns. Use `turn_workspaces`."""

    def __init__(self, backend: Backend, payloads: PayloadStore) -> None:
        self._backend = backend
        self._payloads = payloads
        self._kept: OrderedDict[str, _Kept] = OrderedDict()

    @asynccontextmanager
    async def of(self, invocation: Invocation, policy: Policy) -> AsyncIterator[CallWorkspace]:
        """A workspace for a call: its turn's, or one of its own. Ask `save` before leaving the block.

        Raises:
            WorkspaceLostError: the turn's workspace is neither here nor stored.
            SandboxError: this machine can't give one.
        """
        if invocation.workspace_turn is None:
            async with self._backend.workspace(policy) as workspace:
                yield CallWorkspace(workspace)
            return
        key = _key(invocation, invocation.workspace_turn)
        kept = await self._taken(key, invocation.workspace) or await self._restored(invocation.workspace, policy)
        used = CallWorkspace(kept.workspace)
        try:
            yield used
        except BaseException:
            # Nobody knows what the tool has left; the copy of the last call is what counts.
            await kept.stack.aclose()
            raise
        if used.copy is None:
            await kept.stack.aclose()
            return
        kept.replaced = kept.copy.payload if kept.copy is not None else None
        kept.copy = used.copy
        await self._keep(key, kept)

    async def save(self, used: CallWorkspace, invocation: Invocation, policy: Policy) -> None:
        """Store how a call has left its turn's workspace, and empty the outbox, whose files are collected."""
        if invocation.workspace_turn is None:
            return
        memory = used.workspace.memory
        if memory is not None and not await asyncio.to_thread(empty_folder, memory.outbox):
            _log.warning("an outbox could not be emptied", invocation=invocation.id)
        state = new_invocation_id()
        try:
            data = await archive(self._backend, used.workspace, policy)
            payload = None
            if data:
                payload = await self._payloads.put(f"{invocation.id}.workspace", data, _STORED_S)
            used.copy = WorkspaceCopy(state=state, payload=payload)
        except (ToolmeshError, SandboxError) as error:
            _log.warning("a turn's workspace could not be stored", invocation=invocation.id, reason=str(error))
            used.copy = WorkspaceCopy(state=state, unstored=True)

    async def _taken(self, key: str, wanted: WorkspaceCopy | None) -> _Kept | None:
        """Return the turn's workspace if it is here, in the state that is wanted; let go of any other."""
        kept = self._kept.pop(key, None)
        if kept is None:
            return None
        if wanted is None or kept.copy is None or kept.copy.state != wanted.state:
            await kept.stack.aclose()
            return None
        await self._forget(kept)
        return kept

    async def _restored(self, wanted: WorkspaceCopy | None, policy: Policy) -> _Kept:
        if wanted is not None and wanted.unstored:
            message = "the files of this turn's earlier calls are lost: their worker is gone, and they were not stored"
            raise WorkspaceLostError(message, hint="start again with a new turn")
        async with AsyncExitStack() as stack:
            workspace = await stack.enter_async_context(self._backend.workspace(policy))
            if wanted is not None and wanted.payload is not None:
                await extract(self._backend, workspace, policy, await self._read(wanted.payload))
            return _Kept(stack.pop_all(), workspace, wanted)

    async def _read(self, ref: PayloadRef) -> bytes:
        content = bytearray()
        try:
            async for chunk in self._payloads.open(ref):
                content += chunk
        except BrokerError as error:
            message = f"the files of this turn's earlier calls can't be read: {error.message}"
            raise WorkspaceLostError(message, hint="start again with a new turn") from error
        return bytes(content)

    async def _keep(self, key: str, kept: _Kept) -> None:
        kept.used_at = time.monotonic()
        kept.size = _size(kept.workspace)
        other = self._kept.pop(key, None)
        self._kept[key] = kept
        surplus = [other] if other is not None else []
        while len(self._kept) > _MOST_KEPT or self.kept_bytes > _MOST_KEPT_BYTES:
            surplus.append(self._kept.popitem(last=False)[1])
        for each in surplus:
            await each.stack.aclose()

    async def _forget(self, kept: _Kept) -> None:
        """Remove the copy before the one that a call has named."""
        ref, kept.replaced = kept.replaced, None
        if ref is not None:
            with suppress(BrokerError):
                await self._payloads.delete(ref)

    @property
    def kept_bytes(self) -> int:
        """Memory that the kept workspaces hold."""
        return sum(kept.size for kept in self._kept.values())

    async def sweep(self) -> None:
        """Let go of workspaces that no call uses any more, until cancelled."""
        while True:
            await asyncio.sleep(_SWEEP_S)
            await self._close_unused(time.monotonic() - _KEPT_S)

    async def _close_unused(self, since: float) -> None:
        for key in [key for key, kept in self._kept.items() if kept.used_at <= since]:
            await self._kept.pop(key).stack.aclose()

    async def close(self) -> None:
        """Let go of all."""
        await self._close_unused(float("inf"))


def _size(workspace: Workspace) -> int:
    if workspace.memory is None:
        return 0
    held = os.statvfs(workspace.memory.work)
    return (held.f_blocks - held.f_bfree) * held.f_frsize


def _key(invocation: Invocation, turn: str) -> str:
    caller = invocation.caller
    return hashlib.sha256(json.dumps([caller.user, caller.agent, caller.session, turn]).encode()).hexdigest()


@asynccontextmanager
async def turn_workspaces(backend: Backend, payloads: PayloadStore) -> AsyncIterator[TurnWorkspaces]:
    """The turns' workspaces of one worker; at the end of the block all are let go."""
    turns = TurnWorkspaces(backend, payloads)
    async with task_scope() as group:
        sweeping = group.create_task(turns.sweep())
        try:
            yield turns
        finally:
            sweeping.cancel()
            await turns.close()
