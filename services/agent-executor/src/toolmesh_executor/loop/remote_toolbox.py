"""An agent's remote tools for one caller, as its loop uses them."""

import json
from dataclasses import dataclass, field

from toolmesh_contracts.envelopes.reply import Status
from toolmesh_executor.dispatch import Dispatcher
from toolmesh_executor.loop.tool_content import tool_content
from toolmesh_executor.loop.toolbox import OnStatus, ToolOutcome, ToolView
from toolmesh_executor.models.turns import OfferedTool
from toolmesh_executor.registry import VisibleTool

__all__ = ["RemoteToolbox"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteToolbox:
    """What workers do for one caller's agent.

    Attributes:
        token: Says who the caller is; scopes are checked with it at every use.
        turn: Names the task, for which declared tools keep their workspace.
        max_bytes: Of a result that the model reads.
        shape_depth: Levels of a longer value that it is told.
        timeout_s: Seconds that one call may take; None: the tool's own limit.
    """

    dispatcher: Dispatcher
    agent: str
    token: str = field(repr=False)
    turn: str
    max_bytes: int
    shape_depth: int
    timeout_s: float | None = None

    def tools(self) -> tuple[ToolView, ...]:
        """Return the tools that this caller may use and that workers serve now.

        Raises:
            DispatchError: the token has expired, or is not for this agent.
        """
        return tuple(_view(tool) for tool in self.dispatcher.visible_tools(self.agent, self.token))

    async def call(self, name: str, arguments: bytes, on_status: OnStatus) -> ToolOutcome:
        """Call a tool; whatever goes wrong is an outcome."""

        def tell(status: Status) -> None:
            if status.text:
                on_status(status.text)

        result = await self.dispatcher.dispatch(
            self.agent, name, arguments, self.token, on_status=tell, timeout_s=self.timeout_s, turn=self.turn
        )
        return ToolOutcome(
            outcome=result.outcome,
            content=tool_content(result, self.max_bytes, self.shape_depth),
            code=None if result.error is None else result.error.code,
            invocation=result.invocation,
        )


def _view(visible: VisibleTool) -> ToolView:
    entry = visible.entry
    offered = OfferedTool(visible.tool.exposed_name, entry.description, json.loads(bytes(entry.parameters)))
    return ToolView(offered, entry.instructions)
