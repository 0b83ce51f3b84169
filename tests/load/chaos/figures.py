"""A run's figures, as they are written to the report's JSON."""

import math
from typing import Any

import msgspec
from tests.load.chaos.coverage import Coverage, Dies
from tests.load.chaos.history import CallHistory, Fault, History
from tests.load.chaos.time_line import time_line
from tests.load.chaos.verdicts import Verdict

from toolmesh_contracts.call_steps import CallStep

__all__ = ["figures_of", "summary"]


def summary(verdict: Verdict) -> str:
    """Return the last line of a run."""
    return (
        f"chaos: accepted={verdict.accepted} succeeded={verdict.succeeded} failed={verdict.failed.total()} "
        f"lost={verdict.count('lost')} doubled={verdict.count('doubled')}"
    )


def figures_of(
    history: History, coverage: Coverage, verdict: Verdict, *, settle_s: float, asked: dict[str, Any]
) -> dict[str, Any]:
    """Return everything, as JSON takes it.

    Args:
        history: What happened.
        coverage: Hits of steps.
        verdict: What it is worth.
        settle_s: From the last fault until all was decided.
        asked: Seed, seconds and cast of the run.
    """
    line = time_line(history)
    kinds: dict[str, int] = {}
    for fault in history.faults:
        kinds[fault.kind] = kinds.get(fault.kind, 0) + 1
    broken = {violation.call for violation in verdict.violations if violation.call in history.calls}
    return {
        "summary": summary(verdict),
        "asked": asked,
        "accepted": verdict.accepted,
        "acceptance unknown": verdict.unknown,
        "succeeded": verdict.succeeded,
        "failed": dict(verdict.failed.most_common()),
        "ending is in": dict(verdict.where.most_common()),
        "another result stored beside": verdict.beside,
        "settled after s": round(settle_s, 1),
        "calls of killed workers": {
            "all": len(verdict.times.all),
            "undisturbed": len(verdict.times.undisturbed),
            "longest s": round(verdict.times.longest_s(), 2),
            "95 % within s": round(verdict.times.percentile_s(0.95), 2),
        },
        "hits": {step.value: {dies.value: coverage.hits[step, dies] for dies in Dies} for step in CallStep},
        "tries without a call": coverage.misses.total(),
        "rarest step": coverage.least,
        "faults by kind": kinds,
        "violations": [msgspec.to_builtins(violation) for violation in verdict.violations],
        "histories": {call: _told(history.calls[call], history) for call in sorted(broken)},
        "faults": [_fault(fault) for fault in history.faults],
        "decision times": [
            msgspec.to_builtins(each) for each in sorted(verdict.times.all, key=lambda each: -each.seconds)
        ],
        "by second": {"accepted": line.accepted, "ended": line.ended, "in flight": line.in_flight},
    }


def _told(call: CallHistory, history: History) -> dict[str, Any]:
    """A call's whole history, with the faults of those who had it."""
    who = {call.executor, *(step.program for step in call.steps)}
    end = max([call.deadline, *(result.at for result in call.results)])
    told: dict[str, Any] = msgspec.to_builtins(call)
    told["faults"] = [
        _fault(fault)
        for fault in history.faults
        if fault.touches(call.offered_at, end) and (fault.target in who or not fault.pid)
    ]
    return told


def _fault(fault: Fault) -> dict[str, Any]:
    told: dict[str, Any] = msgspec.to_builtins(fault)
    if math.isinf(fault.until):
        told["until"] = None
    return told
