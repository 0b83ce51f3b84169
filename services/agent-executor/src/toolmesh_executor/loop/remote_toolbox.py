"""An agent's remote tools for one caller, as its loop uses them."""

import json
import time
from dataclasses import dataclass, field
from typing import Final

from toolmesh_client.result import CallResult
from toolmesh_client.supervisor import PublishedCall
from toolmesh_contracts.envelopes.reply import Status
from toolmesh_contracts.errors import ErrorCode, ToolmeshError
from toolmesh_executor.approval_text import approval_needed
from toolmesh_executor.dispatch import CallWatch, Dispatcher
from toolmesh_executor.loop.conversation import OUTCOME_UNKNOWN
from toolmesh_executor.loop.records import ToolStarted
from toolmesh_executor.loop.tool_content import tool_content
from toolmesh_executor.loop.toolbox import (
    ApprovalNeeded,
    CallFound,
    CallProgress,
    NoResultYet,
    ToolOutcome,
    ToolView,
)
from toolmesh_executor.models.turns import OfferedTool
from toolmesh_executor.registry import VisibleTool

__all__ = ["RemoteToolbox"]

_SERVED_AGAIN_S: Final = 15.0
"""Workers that are replaced, or started again, are back by then."""
_MORE_S: Final = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteToolbox:
    """What workers do for one caller's agent.

    Attributes:
        token: Says who the caller is; scopes are checked with it at every use.
        task: The task's id; declared tools keep their workspace for it.
        max_bytes: Of a result that the model reads.
        shape_depth: Levels of a longer value that it is told.
        deadline_ms: Unix time in milliseconds until which calls may take; 0: the tools' own limits alone.
    """

    dispatcher: Dispatcher
    agent: str
    token: str = field(repr=False)
    task: str
    max_bytes: int
    shape_depth: int
    deadline_ms: int = 0

    def tools(self) -> tuple[ToolView, ...]:
        """Return the tools that this caller may use and that workers serve now.

        Raises:
            DispatchError: the token has expired, or is not for this agent.
        """
        return tuple(_view(tool) for tool in self.dispatcher.visible_tools(self.agent, self.token))

    async def ready(self, name: str) -> None:
        """Wait a moment for a tool that no worker serves right now."""
        await self.dispatcher.until_served(self.agent, name, _SERVED_AGAIN_S)

    def approval(self, name: str, arguments: bytes) -> ApprovalNeeded | None:
        """Return what a person must agree to before a call; None if nobody has to."""
        return approval_needed(self.dispatcher.approval(self.agent, name), name, arguments)

    async def call(self, name: str, arguments: bytes, progress: CallProgress, *, approved: bool = False) -> ToolOutcome:
        """Call a tool; whatever goes wrong is an outcome."""

        def tell(status: Status) -> None:
            if status.text:
                progress.status(status.text)

        async def begin(call: PublishedCall) -> None:
            await progress.begin(remote=call)

        async def keep(result: CallResult) -> None:
            await progress.end(self._outcome(result))

        result = await self.dispatcher.dispatch(
            self.agent,
            name,
            arguments,
            self.token,
            on_status=tell,
            timeout_s=self._timeout_s(),
            turn=self.task,
            watch=CallWatch(task=self.task, approved=approved, announce=begin, keep=keep),
        )
        return self._outcome(result)

    def began(self, started: ToolStarted) -> bool:
        """Tell whether a worker was to run a call."""
        return started.remote is not None

    async def recover(self, started: ToolStarted, arguments: bytes) -> CallFound:
        """Wait for the result of a call that another run began."""
        if started.remote is None:
            return ToolOutcome.failed(ErrorCode.WORKER_LOST, OUTCOME_UNKNOWN)
        try:
            result = await self.dispatcher.client.recover(started.remote)
        except ToolmeshError as error:
            told = f"{OUTCOME_UNKNOWN} ({error.message})"
            return ToolOutcome.failed(error.code, told, started.remote.invocation)
        return NoResultYet.NEVER_BEGAN if result is None else self._outcome(result)

    def _outcome(self, result: CallResult) -> ToolOutcome:
        return ToolOutcome(
            outcome=result.outcome,
            content=tool_content(result, self.max_bytes, self.shape_depth),
            code=None if result.error is None else result.error.code,
            invocation=result.invocation,
        )

    def _timeout_s(self) -> float | None:
        # More, since workers stop a tool some time before: the task's own end comes first and takes its calls along.
        return None if self.deadline_ms == 0 else max(self.deadline_ms / 1000 - time.time(), 0.0) + _MORE_S


def _view(visible: VisibleTool) -> ToolView:
    entry = visible.entry
    offered = OfferedTool(visible.tool.exposed_name, entry.description, json.loads(bytes(entry.parameters)))
    return ToolView(offered, entry.instructions)
