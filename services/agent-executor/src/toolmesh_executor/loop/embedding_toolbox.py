"""A toolbox whose tools get their arguments with the embeds replaced."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TypeAlias

from toolmesh_contracts.errors import ToolmeshError
from toolmesh_executor.dispatch import Dispatcher
from toolmesh_executor.embeds.arguments import replace_in_arguments
from toolmesh_executor.embeds.early import EarlyEmbeds, Growth
from toolmesh_executor.loop.records import ToolStarted
from toolmesh_executor.loop.toolbox import ApprovalNeeded, CallFound, CallProgress, Toolbox, ToolView

__all__ = ["EmbeddingToolbox", "RawArguments", "raw_arguments_of"]

RawArguments: TypeAlias = Callable[[str], Collection[str]]
"""Tells which arguments a tool, by its name, wants as the model wrote them."""


def raw_arguments_of(dispatcher: Dispatcher, agent: str, token: str) -> RawArguments:
    """Return what workers say of an agent's tools; a tool that can't be called now has no raw arguments."""

    def raw(name: str) -> Collection[str]:
        try:
            return dispatcher.entry_of(agent, name, token).raw_string_arguments
        except ToolmeshError:
            return ()

    return raw


@dataclass(frozen=True, slots=True)
class EmbeddingToolbox:
    """Replaces embeds before a call, once. What a tool answers is data of strangers, and is never looked at.

    Attributes:
        inner: Has the tools.
        embeds: Know the values.
        raw_arguments: See `RawArguments`.
    """

    inner: Toolbox
    embeds: EarlyEmbeds
    raw_arguments: RawArguments

    def tools(self) -> tuple[ToolView, ...]:
        """Return the inner tools."""
        return self.inner.tools()

    async def ready(self, name: str) -> None:
        """Wait a moment for a tool that nobody serves right now."""
        await self.inner.ready(name)

    def approval(self, name: str, arguments: bytes) -> ApprovalNeeded | None:
        """Return what a person must agree to: the arguments as the model wrote them, since values change with time."""
        return self.inner.approval(name, arguments)

    async def call(self, name: str, arguments: bytes, progress: CallProgress, *, approved: bool = False) -> CallFound:
        """Call a tool; a status_update in its arguments is a status of the call."""
        made = self._replaced(name, arguments, progress.status)
        return await self.inner.call(name, made, progress, approved=approved)

    def began(self, started: ToolStarted) -> bool:
        """Tell whether a call was one of the inner tools'."""
        return self.inner.began(started)

    async def recover(self, started: ToolStarted, arguments: bytes) -> CallFound:
        """Find out what became of a call; its statuses were told when it began."""
        return await self.inner.recover(started, self._replaced(started.tool, arguments, lambda _: None))

    def _replaced(self, name: str, arguments: bytes, on_status: Callable[[str], None]) -> bytes:
        growth = Growth()
        return replace_in_arguments(
            arguments, self.raw_arguments(name), lambda text: self.embeds.replace(text, on_status, growth)
        )
