"""The tools of one task, whatever runs them: one interface, one kind of result."""

from dataclasses import dataclass
from enum import Enum
from typing import Protocol, TypeAlias

from toolmesh_client.supervisor import PublishedCall
from toolmesh_contracts.envelopes.reply import Outcome
from toolmesh_contracts.errors import ErrorCode
from toolmesh_executor.loop.records import PeerCall, ToolStarted
from toolmesh_executor.models.turns import OfferedTool

__all__ = ["ApprovalNeeded", "CallFound", "CallProgress", "NoResultYet", "ToolOutcome", "ToolView", "Toolbox"]


@dataclass(frozen=True, slots=True)
class ToolView:
    """What a model may know of a tool.

    Attributes:
        offered: Its name, description and parameters.
        instructions: What its author tells the model besides.
    """

    offered: OfferedTool
    instructions: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutcome:
    """How a call ended.

    Attributes:
        content: What the model reads; of a pending call, what a person is asked.
        code: Of an error.
        invocation: The call's id on the broker, if it got there.
    """

    outcome: Outcome
    content: str
    code: ErrorCode | None = None
    invocation: str = ""

    @classmethod
    def failed(cls, code: ErrorCode, content: str, invocation: str = "") -> "ToolOutcome":
        """Return that a call did not do what it was asked for."""
        return cls(outcome=Outcome.ERROR, content=content, code=code, invocation=invocation)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalNeeded:
    """A person must agree to a call.

    Attributes:
        text: What the person reads.
        timeout_s: Seconds that the question stays open.
        shows_arguments: Whether the person sees them.
    """

    text: str
    timeout_s: float
    shows_arguments: bool


class NoResultYet(Enum):
    """Why a call has no outcome."""

    COMES_LATER = "comes later"
    """It goes on without us, and whoever runs it sends word."""
    NEVER_BEGAN = "never began"
    """It had no effect and will have none: it can be made."""


CallFound: TypeAlias = ToolOutcome | NoResultYet
"""What became of a call."""


class CallProgress(Protocol):
    """Is told of a call under way."""

    def status(self, text: str) -> None:
        """Take a line of progress; never waits."""

    async def begin(self, remote: PublishedCall | None = None, peer: PeerCall | None = None) -> None:
        """Write down that the call is about to have effects, and by what a successor finds them."""

    async def end(self, outcome: ToolOutcome) -> None:
        """Write down the outcome; whoever ran the call may forget it then."""


class Toolbox(Protocol):
    """What one caller's agent can do."""

    def tools(self) -> tuple[ToolView, ...]:
        """Return the tools that this caller may use and that can be called now.

        Raises:
            ToolmeshError: the caller may not call the agent, or no longer.
        """

    async def ready(self, name: str) -> None:
        """Wait a moment for a tool of the agent that nobody serves right now, as while its workers are replaced."""

    def approval(self, name: str, arguments: bytes) -> ApprovalNeeded | None:
        """Return what a person must agree to before a call; None if nobody has to."""

    async def call(self, name: str, arguments: bytes, progress: CallProgress, *, approved: bool = False) -> CallFound:
        """Call a tool with JSON arguments; whatever goes wrong is an outcome."""

    def began(self, started: ToolStarted) -> bool:
        """Tell whether a call that was begun before is of this toolbox's kind."""

    async def recover(self, started: ToolStarted, arguments: bytes) -> CallFound:
        """Find out what became of a call that was begun before; may wait until it ends."""
