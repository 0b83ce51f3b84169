"""All that is known of the calls and faults of a run, as plain values."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from toolmesh_contracts.call_steps import CallStep

__all__ = ["CallHistory", "Effect", "Fault", "History", "KeptEntry", "LostProcess", "ResultLine", "StepLine"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultLine:
    """A result as an executor journaled it, or as the broker has it stored.

    Attributes:
        at: When it was journaled, Unix time in seconds; 0 for a stored one.
        outcome: ok, error or another.
        code: The error's; empty without one.
        attempt: Which run it is of.
        worker: Who answered.
        message: Its begin.
        digest: Of the whole.
    """

    at: float
    outcome: str
    code: str
    attempt: int
    worker: str
    message: str = ""
    digest: str = ""


@dataclass(frozen=True, slots=True)
class StepLine:
    """A call's step in a program's journal."""

    at: float
    step: CallStep
    program: str
    pid: int


@dataclass(frozen=True, slots=True)
class Effect:
    """A line that a tool wrote outside."""

    at: float
    attempt: int
    pid: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptEntry:
    """What the ledger says of a call in the end.

    Attributes:
        state: running or cancelled.
        attempt: How often it was started.
        worker: Of a running one.
        lease_until: Unix time in seconds.
        reason: Of a cancelled one.
    """

    state: str
    attempt: int
    worker: str = ""
    lease_until: float = 0.0
    reason: str = ""


@dataclass(slots=True, kw_only=True)
class CallHistory:
    """One call.

    Attributes:
        id: Its id.
        tool: Its tool.
        executor: Who made it.
        offered_at: When its publish began.
        deadline: Unix time in seconds.
        accepted: Whether an acknowledgement was journaled.
        resumed: When a successor of a dead executor took it over.
        cancelled_at: When its caller lost interest.
        results: What executors journaled.
        stored: What the broker has stored.
        ledger: What the ledger has.
        queued: Whether its message is in the queue in the end.
        steps: In the order of time.
        effects: In the order of time.
    """

    id: str
    tool: str
    executor: str
    offered_at: float
    deadline: float
    accepted: bool = False
    resumed: list[float] = field(default_factory=list)
    cancelled_at: float | None = None
    results: list[ResultLine] = field(default_factory=list)
    stored: ResultLine | None = None
    ledger: KeptEntry | None = None
    queued: bool = False
    steps: list[StepLine] = field(default_factory=list)
    effects: list[Effect] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Something that the director did.

    Attributes:
        kind: kill, stop, drain, cut, broker kill, broker stop, disk full.
        target: A program's or a node's name.
        at: Begin, Unix time in seconds.
        until: End; infinite if it was never noted.
        pid: The process, of a fault of one.
        step: At which step, if at one.
        call: Whose step that was.
    """

    kind: str
    target: str
    at: float
    until: float
    pid: int = 0
    step: str = ""
    call: str = ""

    def touches(self, begin: float, end: float) -> bool:
        """Whether any of it lies in a span of time."""
        return self.at <= end and self.until >= begin


@dataclass(frozen=True, slots=True)
class LostProcess:
    """A process that ended by itself.

    Attributes:
        at: When, Unix time in seconds.
        program: Whose.
        code: Its exit code.
        said: The end of what it wrote to stderr, for people.
    """

    at: float
    program: str
    code: int
    said: str


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """A whole run.

    Attributes:
        began: Unix time in seconds.
        ended: When the last look at the broker was.
        calls: By id.
        faults: In the order of time.
        strays: Calls that have effects and that nobody offered.
        ended_by_itself: Processes that ended though nobody ended them.
        undrained: Workers that did not end within the time that they have for it.
    """

    began: float
    ended: float
    calls: Mapping[str, CallHistory]
    faults: tuple[Fault, ...]
    strays: tuple[str, ...] = ()
    ended_by_itself: tuple["LostProcess", ...] = ()
    undrained: tuple[str, ...] = ()
