"""A toolbox whose tools are functions of a test, with what another run of the loop would find of them."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from toolmesh_contracts.envelopes.reply import Outcome
from toolmesh_contracts.errors import ErrorCode
from toolmesh_executor.loop.conversation import OUTCOME_UNKNOWN
from toolmesh_executor.loop.records import ToolStarted
from toolmesh_executor.loop.toolbox import ApprovalNeeded, CallFound, CallProgress, ToolOutcome, ToolView
from toolmesh_executor.models.turns import OfferedTool

__all__ = ["Function", "FunctionTools", "OnStatus"]

OnStatus = Callable[[str], None]
Function = Callable[[str, bytes, OnStatus], Awaitable[CallFound]]


@dataclass
class FunctionTools:
    """Tools by name; calls that another run began are looked up in `found`."""

    by_name: Mapping[str, Function]
    instructions: str = ""
    approvals: Mapping[str, ApprovalNeeded] = field(default_factory=dict)
    found: dict[str, CallFound] = field(default_factory=dict)
    called: list[tuple[str, bytes]] = field(default_factory=list)
    looked: list[str] = field(default_factory=list)

    def tools(self) -> tuple[ToolView, ...]:
        """Return a view of each."""
        return tuple(ToolView(OfferedTool(name, name, {"type": "object"}), self.instructions) for name in self.by_name)

    async def ready(self, name: str) -> None:
        """Return at once: they are always there."""

    def approval(self, name: str, arguments: bytes) -> ApprovalNeeded | None:
        """Return what the test says."""
        return self.approvals.get(name)

    async def call(self, name: str, arguments: bytes, progress: CallProgress, *, approved: bool = False) -> CallFound:
        """Run the function."""
        await progress.begin()
        self.called.append((name, arguments))
        return await self.by_name[name](name, arguments, progress.status)

    def began(self, started: ToolStarted) -> bool:
        """Return True: all are of one kind."""
        return True

    async def recover(self, started: ToolStarted, arguments: bytes) -> CallFound:
        """Return what the test says, else that nothing is known."""
        self.looked.append(started.call)
        unknown = ToolOutcome(outcome=Outcome.ERROR, content=OUTCOME_UNKNOWN, code=ErrorCode.WORKER_LOST)
        return self.found.get(started.call, unknown)
