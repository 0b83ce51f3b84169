"""A toolbox that shows only some of its tools."""

from dataclasses import dataclass
from fnmatch import fnmatchcase

from toolmesh_contracts.config_problems import nearest
from toolmesh_executor.loop.records import ToolStarted
from toolmesh_executor.loop.toolbox import ApprovalNeeded, CallFound, CallProgress, Toolbox, ToolView
from toolmesh_executor.loop.unknown_tool import unknown_tool

__all__ = ["FilteredToolbox"]


@dataclass(frozen=True, slots=True)
class FilteredToolbox:
    """Lets through what its lists allow; the rest can't be called either.

    Attributes:
        inner: Has the tools.
        allow_list: Names, or patterns as `fnmatch` has them; None: all.
        deny_list: Those that are left out, in the same form; None: none.
    """

    inner: Toolbox
    allow_list: tuple[str, ...] | None = None
    deny_list: tuple[str, ...] | None = None

    def tools(self) -> tuple[ToolView, ...]:
        """Return the tools that may be used."""
        return tuple(view for view in self.inner.tools() if self._lets(view.offered.name))

    def problems(self) -> tuple[str, ...]:
        """Return a text for each pattern that fits no tool: a misspelt one lets a tool through, or hides it."""
        names = [view.offered.name for view in self.inner.tools()]
        return tuple(
            _unmatched(key, pattern, names)
            for key, patterns in (("allow_list", self.allow_list), ("deny_list", self.deny_list))
            for pattern in patterns or ()
            if not any(fnmatchcase(name, pattern) for name in names)
        )

    async def ready(self, name: str) -> None:
        """Wait a moment for a tool that nobody serves right now."""
        await self.inner.ready(name)

    def approval(self, name: str, arguments: bytes) -> ApprovalNeeded | None:
        """Return what a person must agree to before a call; None if nobody has to."""
        return self.inner.approval(name, arguments)

    async def call(self, name: str, arguments: bytes, progress: CallProgress, *, approved: bool = False) -> CallFound:
        """Call a tool that may be used."""
        if not self._lets(name):
            return unknown_tool(name, [view.offered.name for view in self.tools()])
        return await self.inner.call(name, arguments, progress, approved=approved)

    def began(self, started: ToolStarted) -> bool:
        """Tell whether a call was one of the inner tools'."""
        return self.inner.began(started)

    async def recover(self, started: ToolStarted, arguments: bytes) -> CallFound:
        """Find out what became of a call, whether or not its tool may still be used."""
        return await self.inner.recover(started, arguments)

    def _lets(self, name: str) -> bool:
        if self.allow_list is not None and not any(fnmatchcase(name, pattern) for pattern in self.allow_list):
            return False
        return not any(fnmatchcase(name, pattern) for pattern in self.deny_list or ())


def _unmatched(key: str, pattern: str, names: list[str]) -> str:
    near = nearest(pattern, names)
    return f"{key}: no tool is called {pattern!r}" + (f"; did you mean {near!r}?" if near else "")
