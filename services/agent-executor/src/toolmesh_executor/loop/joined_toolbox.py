"""Several toolboxes as one."""

from collections.abc import Sequence

from toolmesh_executor.loop.records import ToolStarted
from toolmesh_executor.loop.toolbox import ApprovalNeeded, CallFound, CallProgress, Toolbox, ToolView

__all__ = ["JoinedToolbox"]


class JoinedToolbox:
    """The tools of all parts; of two with one name, the one of the earlier part.

    Args:
        parts: At least one.
    """

    def __init__(self, parts: Sequence[Toolbox]) -> None:
        self._parts = parts
        self._places: dict[str, Toolbox] = {}

    def tools(self) -> tuple[ToolView, ...]:
        """Return the tools of all parts."""
        found: dict[str, ToolView] = {}
        places: dict[str, Toolbox] = {}
        for part in self._parts:
            for tool in part.tools():
                found.setdefault(tool.offered.name, tool)
                places.setdefault(tool.offered.name, part)
        self._places = places
        return tuple(found.values())

    async def ready(self, name: str) -> None:
        """Wait a moment for a tool that nobody serves right now."""
        for part in self._parts:
            await part.ready(name)

    def problems(self) -> tuple[str, ...]:
        """Return a text for each tool that one of the same name hides."""
        seen: set[str] = set()
        hidden: list[str] = []
        for name in (view.offered.name for part in self._parts for view in part.tools()):
            (hidden.append if name in seen else seen.add)(name)
        return tuple(
            f"there are two tools {name!r}; the first is used: rename the other, or give its toolset a prefix"
            for name in hidden
        )

    def approval(self, name: str, arguments: bytes) -> ApprovalNeeded | None:
        """Return what a person must agree to before a call; None if nobody has to."""
        return self._part_of(name).approval(name, arguments)

    async def call(self, name: str, arguments: bytes, progress: CallProgress, *, approved: bool = False) -> CallFound:
        """Call a tool."""
        return await self._part_of(name).call(name, arguments, progress, approved=approved)

    def began(self, started: ToolStarted) -> bool:
        """Tell whether a call was one of a part's."""
        return any(part.began(started) for part in self._parts)

    async def recover(self, started: ToolStarted, arguments: bytes) -> CallFound:
        """Find out what became of a call that was begun before."""
        part = next((part for part in self._parts if part.began(started)), self._parts[0])
        return await part.recover(started, arguments)

    def _part_of(self, name: str) -> Toolbox:
        if name not in self._places:
            self.tools()
        return self._places.get(name, self._parts[0])
