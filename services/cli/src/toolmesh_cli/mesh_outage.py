"""Tells who waits for a call of a lost broker, and ends the wait once nobody can answer any more."""

import asyncio
import contextlib
import shlex
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

from toolmesh_broker.embedded.data_folder import DataFolder, is_locked
from toolmesh_broker.task_scope import task_scope
from toolmesh_cli.mesh_connection import MeshConnection
from toolmesh_cli.terminal import Terminal
from toolmesh_client.connection_change import ConnectionChange
from toolmesh_client.profile import PROFILE_NAME, data_folder, read_profile
from toolmesh_contracts.errors import ToolmeshError

__all__ = ["outages_told"]

_RESTART_S: Final = 10.0
"""For a mesh that has ended to be started again, by a person or by what keeps it running."""
_LOOK_S: Final = 0.25


@contextlib.asynccontextmanager
async def outages_told(mesh: MeshConnection, folder: Path, terminal: Terminal) -> AsyncIterator[None]:
    """Tell of each loss of the broker inside the block; give the calls up when the mesh of `folder` stays away.

    A mesh stays away if nobody has started it again 10 s after its end, or if it is back at another address.
    """
    watch = _Watch(mesh, folder, terminal)
    forget = mesh.client.on_connection_change(watch.changed)
    async with task_scope() as tasks:
        watching = tasks.create_task(watch.run())
        try:
            yield
        finally:
            forget()
            watching.cancel()


class _Watch:
    def __init__(self, mesh: MeshConnection, folder: Path, terminal: Terminal) -> None:
        self._mesh = mesh
        self._folder = folder
        self._terminal = terminal
        self._lost = asyncio.Event()

    def changed(self, change: ConnectionChange) -> None:
        if change is ConnectionChange.LOST:
            self._terminal.warning("the connection to the broker is lost; trying again, Ctrl-C gives the call up")
            self._lost.set()
        else:
            self._terminal.line("connected to the broker again")
            self._lost.clear()

    async def run(self) -> None:
        while True:
            await self._lost.wait()
            if reason := await self._stays_away():
                self._mesh.client.give_up_calls(reason, self._hint)
                return

    async def _stays_away(self) -> str:
        """Return why there is no use in waiting; empty once there is a connection again."""
        clock = asyncio.get_running_loop().time
        ended_at: float | None = None
        while self._lost.is_set():
            if moved_to := self._moved_to():
                return f"toolmesh was started again, but its broker is at {moved_to} now, where this call can't follow"
            if not self._has_ended():
                ended_at = None
            elif ended_at is None:
                ended_at = clock()
                self._terminal.warning(
                    f"toolmesh in {self._folder} has ended; waiting {_RESTART_S:g} s for it to be started again"
                )
            elif clock() - ended_at > _RESTART_S:
                return f"toolmesh in {self._folder} has ended"
            await asyncio.sleep(_LOOK_S)
        return ""

    def _hint(self, invocation: str) -> str:
        place = "" if self._folder == data_folder().absolute() else f" --data {shlex.quote(str(self._folder))}"
        return (
            "check what the tool did before calling it again; once toolmesh runs again, "
            f"`toolmesh result {invocation}{place}` tells how the call ended"
        )

    def _has_ended(self) -> bool:
        data = DataFolder(self._folder)
        return data.lock.exists() and not is_locked(data)

    def _moved_to(self) -> str:
        with contextlib.suppress(ToolmeshError):
            url = read_profile(self._folder / PROFILE_NAME).broker_url
            return url if url != self._mesh.profile.broker_url else ""
        return ""
