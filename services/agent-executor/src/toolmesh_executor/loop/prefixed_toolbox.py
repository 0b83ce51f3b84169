"""A toolbox whose tools have a prefix before their names."""

from dataclasses import dataclass, replace

import msgspec

from toolmesh_contracts.errors import ToolmeshError
from toolmesh_executor.loop.records import ToolStarted
from toolmesh_executor.loop.toolbox import ApprovalNeeded, CallFound, CallProgress, Toolbox, ToolView
from toolmesh_executor.loop.unknown_tool import unknown_tool
from toolmesh_executor.models.legal_names import legal_names

__all__ = ["PrefixedToolbox"]


@dataclass(frozen=True, slots=True)
class PrefixedToolbox:
    """Shows each tool as `<prefix>_<name>`, spelt so that every provider takes it and no two are the same.

    Attributes:
        inner: Has the tools, and hears their own names.
        prefix: Any text.
    """

    inner: Toolbox
    prefix: str

    def tools(self) -> tuple[ToolView, ...]:
        """Return the inner tools under their new names."""
        views = self.inner.tools()
        shown = self._shown(views)
        return tuple(replace(view, offered=replace(view.offered, name=shown[view.offered.name])) for view in views)

    async def ready(self, name: str) -> None:
        """Wait a moment for a tool that nobody serves right now."""
        # It is not among the tools then, but most names are spelt plainly.
        await self.inner.ready(self._own(name) or name.removeprefix(f"{self.prefix}_"))

    def approval(self, name: str, arguments: bytes) -> ApprovalNeeded | None:
        """Return what a person must agree to before a call; None if nobody has to."""
        own = self._own(name)
        return None if own is None else self.inner.approval(own, arguments)

    async def call(self, name: str, arguments: bytes, progress: CallProgress, *, approved: bool = False) -> CallFound:
        """Call a tool by its new name."""
        own = self._own(name)
        if own is None:
            return unknown_tool(name, [view.offered.name for view in self.tools()])
        return await self.inner.call(own, arguments, progress, approved=approved)

    def began(self, started: ToolStarted) -> bool:
        """Tell whether a call was one of the inner tools'."""
        return self.inner.began(started)

    async def recover(self, started: ToolStarted, arguments: bytes) -> CallFound:
        """Find out what became of a call."""
        try:
            own = self._own(started.tool)
        except ToolmeshError:
            own = None
        # A tool that is gone by now, or not for this caller any longer, may have left its result.
        return await self.inner.recover(msgspec.structs.replace(started, tool=own or started.tool), arguments)

    def _own(self, name: str) -> str | None:
        return next((own for own, new in self._shown(self.inner.tools()).items() if new == name), None)

    def _shown(self, views: tuple[ToolView, ...]) -> dict[str, str]:
        """Return each tool's new name by its own."""
        prefixed = {view.offered.name: f"{self.prefix}_{view.offered.name}" for view in views}
        legal = legal_names(prefixed.values())
        return {own: legal[name] for own, name in prefixed.items()}
