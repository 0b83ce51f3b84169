"""An agent's tools that the executor runs itself, for one caller."""

from dataclasses import dataclass, field

from toolmesh_contracts.errors import ErrorCode, ToolmeshError
from toolmesh_executor.approval_text import approval_needed
from toolmesh_executor.dispatch import Dispatcher
from toolmesh_executor.loop.conversation import OUTCOME_UNKNOWN
from toolmesh_executor.loop.records import ToolStarted
from toolmesh_executor.loop.toolbox import (
    ApprovalNeeded,
    CallFound,
    CallProgress,
    NoResultYet,
    ToolOutcome,
    ToolView,
)
from toolmesh_executor.models.turns import OfferedTool
from toolmesh_executor.registry import LocalTool

__all__ = ["BuiltinToolbox"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltinToolbox:
    """Scopes are checked when tools are shown, and again at each call.

    Attributes:
        dispatcher: Knows the agents, and what a caller may do.
        agent: The agent's name.
        token: Says who the caller is.
    """

    dispatcher: Dispatcher
    agent: str
    token: str = field(repr=False)

    def tools(self) -> tuple[ToolView, ...]:
        """Return the tools that this caller may use."""
        return tuple(_view(tool) for tool in self.dispatcher.local_tools(self.agent, self.token))

    async def ready(self, name: str) -> None:
        """Return at once: the tools are always there."""

    def approval(self, name: str, arguments: bytes) -> ApprovalNeeded | None:
        """Return what a person must agree to before a call; None if nobody has to."""
        return approval_needed(self.dispatcher.approval(self.agent, name), name, arguments)

    async def call(self, name: str, arguments: bytes, progress: CallProgress, *, approved: bool = False) -> CallFound:
        """Call a tool; whatever goes wrong is an outcome."""
        try:
            tool = self.dispatcher.local_tool(self.agent, name, self.token)
        except ToolmeshError as error:
            return ToolOutcome.failed(error.code, error.message)
        if tool.approval is not None and not approved:
            return ToolOutcome.failed(ErrorCode.PERMISSION_DENIED, f"tool {name!r} needs a person's approval")
        await progress.begin()
        outcome = tool.builtin.call(arguments)
        self.dispatcher.count(self.agent, name, outcome.outcome)
        return outcome

    def began(self, started: ToolStarted) -> bool:
        """Tell whether the executor was to run a call itself."""
        return started.remote is None and started.peer is None

    async def recover(self, started: ToolStarted, arguments: bytes) -> CallFound:
        """Return that nobody knows what became of the call, unless it may be made again."""
        try:
            tool = self.dispatcher.local_tool(self.agent, started.tool, self.token)
        except ToolmeshError:
            return ToolOutcome.failed(ErrorCode.WORKER_LOST, OUTCOME_UNKNOWN)
        if tool.builtin.is_repeatable:
            return NoResultYet.NEVER_BEGAN
        return ToolOutcome.failed(ErrorCode.WORKER_LOST, OUTCOME_UNKNOWN)


def _view(tool: LocalTool) -> ToolView:
    return ToolView(OfferedTool(tool.exposed_name, tool.builtin.description, tool.builtin.parameters))
