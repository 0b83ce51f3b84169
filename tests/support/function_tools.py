"""A toolbox whose tools are functions of a test, with what another run of the loop would find of them."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from toolmesh_client.supervisor import PublishedCall
from toolmesh_contracts.envelopes.reply import Outcome
from toolmesh_contracts.errors import ErrorCode
from toolmesh_executor.loop.conversation import OUTCOME_UNKNOWN
from toolmesh_executor.loop.records import PeerCall, ToolStarted
from toolmesh_executor.loop.toolbox import ApprovalNeeded, CallFound, CallProgress, ToolOutcome, ToolView
from toolmesh_executor.models.turns import OfferedTool

__all__ = ["Function", "FunctionTools", "OnStatus", "Progress", "echoing", "names_of"]

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
    readied: list[str] = field(default_factory=list)
    recovered: list[tuple[str, bytes]] = field(default_factory=list)

    def tools(self) -> tuple[ToolView, ...]:
        """Return a view of each."""
        return tuple(ToolView(OfferedTool(name, name, {"type": "object"}), self.instructions) for name in self.by_name)

    async def ready(self, name: str) -> None:
        """Remember it: functions are always there."""
        self.readied.append(name)

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
        self.recovered.append((started.tool, arguments))
        unknown = ToolOutcome(outcome=Outcome.ERROR, content=OUTCOME_UNKNOWN, code=ErrorCode.WORKER_LOST)
        return self.found.get(started.call, unknown)


@dataclass
class Progress:
    """Remembers what a call said of itself."""

    statuses: list[str] = field(default_factory=list)

    def status(self, text: str) -> None:
        """Take a line of progress."""
        self.statuses.append(text)

    async def begin(self, remote: PublishedCall | None = None, peer: PeerCall | None = None) -> None:
        """Take that the call begins."""

    async def end(self, outcome: ToolOutcome) -> None:
        """Take the outcome."""


def echoing(*names: str) -> FunctionTools:
    """Tools that answer with their own name and arguments."""

    async def echo(name: str, arguments: bytes, on_status: OnStatus) -> ToolOutcome:
        return ToolOutcome(outcome=Outcome.OK, content=f"{name} {arguments.decode()}")

    return FunctionTools(dict.fromkeys(names, echo))


def names_of(views: tuple[ToolView, ...]) -> list[str]:
    """What the model may call."""
    return [view.offered.name for view in views]
