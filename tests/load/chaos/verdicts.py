"""Decides how each call ended, and what of it breaks a promise. Pure: from a history to verdicts."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tests.load.chaos.decision_times import DecisionTimes, decision_times
from tests.load.chaos.history import CallHistory, Fault, History, ResultLine

from toolmesh_contracts.call_steps import CallStep
from toolmesh_contracts.errors import ErrorCode

__all__ = ["Ending", "Verdict", "Violation", "ending_of", "judge"]

_BROKER_FAULTS = frozenset({"broker kill", "broker stop", "disk full"})
_MESH_FAULTS = _BROKER_FAULTS | {"cut"}
_NOT_RUN = "did not run"
_NO_BROKER_S = 15.0


@dataclass(frozen=True, slots=True)
class Ending:
    """How a call ended, and where that is written."""

    where: str
    """journal, stored, ledger, or expired: the queue dropped it unrun, and nobody was left to say so."""
    outcome: str
    code: str
    attempt: int


@dataclass(frozen=True, slots=True)
class Violation:
    """A promise that did not hold.

    Attributes:
        kind: lost, doubled, not done, two results, unjustified loss, said not to have run, stray effect, left in the
            queue, late, ended by itself, undrained.
        call: Whose; empty for what is no call's.
        text: What is wrong.
    """

    kind: str
    call: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The judgement of a run.

    Attributes:
        accepted: Calls that the queue is known to have had.
        unknown: Calls that were offered, and of which nobody knows whether the queue had them.
        succeeded: Accepted calls that ended well.
        failed: Accepted calls that ended otherwise, by code.
        where: Where the endings are written.
        beside: Calls whose stored result is another one than that which their executor has: it came too late.
        times: From a worker's end to its calls' decisions.
        violations: What broke a promise.
    """

    accepted: int
    unknown: int
    succeeded: int
    failed: Counter[str] = field(default_factory=Counter)
    where: Counter[str] = field(default_factory=Counter)
    beside: int = 0
    times: DecisionTimes
    violations: tuple[Violation, ...] = ()

    def count(self, kind: str) -> int:
        """How many calls have a violation of a kind."""
        return len({violation.call for violation in self.violations if violation.kind == kind})


def judge(history: History, most_runs: Mapping[str, int], decided_within_s: float) -> Verdict:
    """Judge a run.

    Args:
        history: What happened.
        most_runs: Most runs of a call of each tool.
        decided_within_s: Within which a killed worker's calls must be decided while all but workers is whole.
    """
    violations: list[Violation] = []
    failed: Counter[str] = Counter()
    where: Counter[str] = Counter()
    accepted = succeeded = beside = 0
    for call in history.calls.values():
        violations += _of_effects(call, most_runs[call.tool])
        if not _is_accepted(call):
            continue
        accepted += 1
        violations += _of_results(call, history.faults)
        ending = ending_of(call, history)
        if ending is None:
            violations.append(Violation("lost", call.id, "it was accepted, and nothing says how it ended"))
            continue
        where[ending.where] += 1
        succeeded += ending.outcome == "ok"
        if ending.outcome != "ok":
            failed[ending.code] += 1
        beside += _is_beside(call)
    violations += _of_the_whole(history)
    times = decision_times(history)
    violations += [
        Violation("late", each.call, f"decided {each.seconds:.1f} s after {each.worker} was killed")
        for each in times.undisturbed
        # Where it may run again it may have to wait for a worker with a free slot.
        if each.seconds > decided_within_s and most_runs[history.calls[each.call].tool] == 1
    ]
    return Verdict(
        accepted=accepted,
        unknown=len(history.calls) - accepted,
        succeeded=succeeded,
        failed=failed,
        where=where,
        beside=beside,
        times=times,
        violations=tuple(violations),
    )


def ending_of(call: CallHistory, history: History) -> Ending | None:
    """Return how an accepted call ended: by its executor, else the stored result, else the ledger, else by expiry.

    Only a call whose executor was killed may have its ending elsewhere than in the journal.
    """
    if call.results:
        return _ending("journal", call.results[0])
    if not _was_left_alone(call, history.faults):
        return None
    if call.stored is not None:
        return _ending("stored", call.stored)
    if call.queued or call.deadline > history.ended:
        return None
    entry = call.ledger
    if entry is None:
        return None if call.effects else Ending("expired", "error", ErrorCode.DEADLINE_EXCEEDED, 0)
    if entry.state == "cancelled" and entry.attempt == 0:
        return None if call.effects else Ending("ledger", "error", ErrorCode.CANCELLED, 0)
    if entry.state == "cancelled" or entry.lease_until < history.ended:
        return Ending("ledger", "error", ErrorCode.WORKER_LOST, entry.attempt)
    return None


def _ending(where: str, result: ResultLine) -> Ending:
    return Ending(where, result.outcome, result.code, result.attempt)


def _is_accepted(call: CallHistory) -> bool:
    return call.accepted or bool(call.results) or call.stored is not None or call.ledger is not None


def _was_left_alone(call: CallHistory, faults: tuple[Fault, ...]) -> bool:
    """Whether whoever waited for the call, first or as a successor, was killed afterwards."""
    waited_since = max([call.offered_at, *call.resumed])
    return any(
        fault.kind == "kill" and fault.target == call.executor and fault.until > waited_since for fault in faults
    )


def _of_effects(call: CallHistory, most: int) -> Iterator[Violation]:
    if len(call.effects) > most:
        yield Violation("doubled", call.id, f"{len(call.effects)} effects of {call.tool}, at most {most}")
    attempts = Counter(effect.attempt for effect in call.effects)
    for attempt, count in attempts.items():
        if count > 1:
            yield Violation("doubled", call.id, f"attempt {attempt} had its effect {count} times")


def _of_results(call: CallHistory, faults: tuple[Fault, ...]) -> Iterator[Violation]:
    if len({result.digest for result in call.results}) > 1:
        yield Violation("two results", call.id, "its executor was given two results that differ")
    for result in (*call.results[:1], *([call.stored] if call.stored and not call.results else [])):
        if result.outcome == "ok" and not any(effect.attempt == result.attempt for effect in call.effects):
            yield Violation("not done", call.id, f"it succeeded in attempt {result.attempt}, which had no effect")
        if _NOT_RUN in result.message and call.effects:
            yield Violation("said not to have run", call.id, result.message)
        if result.code == ErrorCode.WORKER_LOST and (why := _unjustified(call, result, faults)):
            yield Violation("unjustified loss", call.id, why)


def _unjustified(call: CallHistory, result: ResultLine, faults: tuple[Fault, ...]) -> str:
    """Say why a loss is not justified: no worker had the call, or nothing had happened to any that had it."""
    if call.ledger is None or call.ledger.attempt == 0:
        return "told as lost, but the ledger knows of no run"
    taken = {step.program: step.at for step in reversed(call.steps) if step.step is CallStep.TAKEN}
    until = result.at or float("inf")
    for fault in faults:
        # One that was killed between the ledger and its journal has noted nothing; the ledger or the result names it.
        named = fault.target == call.ledger.worker or fault.target in result.message
        if fault.kind in _BROKER_FAULTS or fault.target in taken or (not taken and named):
            since = taken.get(fault.target, call.offered_at)
            if fault.kind not in _BROKER_FAULTS and fault.target == call.executor:
                continue
            if fault.touches(since, until):
                return ""
    return f"told as lost, but nothing had happened to {', '.join(taken) or 'any worker'}"


def _is_beside(call: CallHistory) -> bool:
    if call.stored is None or not call.results:
        return False
    first = call.results[0]
    return (first.outcome, first.code, first.attempt) != (call.stored.outcome, call.stored.code, call.stored.attempt)


def _of_the_whole(history: History) -> Iterator[Violation]:
    for stray in history.strays:
        yield Violation("stray effect", stray, "an effect of a call that nobody made")
    for call in history.calls.values():
        if call.queued and call.deadline < history.ended - 5:
            yield Violation("left in the queue", call.id, "its deadline is over, and its message is there")
    for lost in history.ended_by_itself:
        # Without a broker a process can't start; it says so within 10 s, and ends.
        if not any(
            fault.kind in _MESH_FAULTS and fault.touches(lost.at - _NO_BROKER_S, lost.at) for fault in history.faults
        ):
            yield Violation("ended by itself", "", f"{lost.program} with exit code {lost.code}: {lost.said}")
    for worker in history.undrained:
        yield Violation("undrained", "", f"{worker} did not end after SIGTERM")
