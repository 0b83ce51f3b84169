"""The judge of the chaos harness: what is sound passes, and each way to break a promise is named."""

import math
from collections.abc import Callable
from typing import Any

import pytest
from tests.load.chaos.history import CallHistory, Effect, Fault, History, KeptEntry, LostProcess, ResultLine, StepLine
from tests.load.chaos.verdicts import Verdict, judge

from toolmesh_contracts.call_steps import CallStep

TOOLS = {"once": 1, "again": 3}
BEGAN = 1000.0
ENDED = 1200.0


def result(outcome: str = "ok", code: str = "", attempt: int = 1, **more: Any) -> ResultLine:
    return ResultLine(
        **{
            "at": BEGAN + 5,
            "outcome": outcome,
            "code": code,
            "attempt": attempt,
            "worker": "worker-1",
            "digest": f"{outcome}{code}{attempt}",
            **more,
        }
    )


def effect(attempt: int = 1, at: float = BEGAN + 2) -> Effect:
    return Effect(at, attempt, 2)


def steps(*names: CallStep, program: str = "worker-1", pid: int = 77, begin: float = BEGAN + 1) -> list[StepLine]:
    return [StepLine(begin + number / 10, name, program, pid) for number, name in enumerate(names)]


def call(**more: Any) -> CallHistory:
    """A call that went well, but for what is said."""
    fields: dict[str, Any] = {
        "id": "c1",
        "tool": "once",
        "executor": "executor-1",
        "offered_at": BEGAN,
        "deadline": BEGAN + 60,
        "accepted": True,
        "results": [result()],
        "ledger": KeptEntry(state="running", attempt=1, worker="worker-1", lease_until=BEGAN + 8),
        "steps": steps(CallStep.PULLED, CallStep.TAKEN, CallStep.RUNNING, CallStep.ENDED),
        "effects": [effect()],
    }
    return CallHistory(**{**fields, **more})


def kill(target: str = "worker-1", at: float = BEGAN + 3, pid: int = 77) -> Fault:
    return Fault(kind="kill", target=target, at=at, until=at + 0.1, pid=pid)


def judged(*calls: CallHistory, faults: tuple[Fault, ...] = (), **more: Any) -> Verdict:
    history = History(began=BEGAN, ended=ENDED, calls={each.id: each for each in calls}, faults=faults, **more)
    return judge(history, TOOLS, 12.0)


def kinds(verdict: Verdict) -> list[str]:
    return [violation.kind for violation in verdict.violations]


LOST = result("error", "WORKER_LOST", at=BEGAN + 10)
SOUND: dict[str, Callable[[], tuple[CallHistory, tuple[Fault, ...]]]] = {
    "a call that went well": lambda: (call(), ()),
    "a loss after a kill": lambda: (call(results=[LOST]), (kill(),)),
    "a loss after a kill that no journal saw begin": lambda: (call(results=[LOST], steps=[], effects=[]), (kill(),)),
    "a loss while the broker was away": lambda: (
        call(results=[LOST]),
        (Fault(kind="broker stop", target="broker", at=BEGAN + 3, until=BEGAN + 9),),
    ),
    "three runs of an idempotent tool": lambda: (
        call(tool="again", effects=[effect(1), effect(2), effect(3)], results=[result(attempt=3, at=BEGAN + 11)]),
        (kill(),),
    ),
    "a dead executor's call, stored": lambda: (call(results=[], stored=result(at=0.0)), (kill("executor-1"),)),
    "a dead executor's call, cancelled in the queue": lambda: (
        call(results=[], effects=[], steps=[], ledger=KeptEntry(state="cancelled", attempt=0)),
        (kill("executor-1"),),
    ),
    "a dead executor's call that expired unrun": lambda: (
        call(results=[], effects=[], steps=[], ledger=None),
        (kill("executor-1"),),
    ),
    "a dead executor's call whose worker died at its deadline": lambda: (call(results=[]), (kill("executor-1"),)),
    "the same result twice": lambda: (call(results=[result(), result(at=BEGAN + 9)]), ()),
    "a call that was perhaps never accepted": lambda: (
        call(accepted=False, results=[], effects=[], steps=[], ledger=None),
        (),
    ),
}
BROKEN: dict[str, tuple[str, Callable[[], tuple[CallHistory, tuple[Fault, ...]]]]] = {
    "no result, though its executor lives": ("lost", lambda: (call(results=[]), ())),
    "no result in its journal, and its executor died before it": (
        "lost",
        lambda: (call(results=[], stored=result(at=0.0)), (kill("executor-1", at=BEGAN - 9),)),
    ),
    "a dead executor's call that is still queued": (
        "lost",
        lambda: (call(results=[], effects=[], ledger=None, queued=True, deadline=ENDED), (kill("executor-1"),)),
    ),
    "a dead executor's call that had its effect and has no trace": (
        "lost",
        lambda: (call(results=[], ledger=None), (kill("executor-1"),)),
    ),
    "a dead executor's call that is said to be cancelled unrun and had its effect": (
        "lost",
        lambda: (call(results=[], ledger=KeptEntry(state="cancelled", attempt=0)), (kill("executor-1"),)),
    ),
    "a second effect": ("doubled", lambda: (call(effects=[effect(1), effect(2)]), ())),
    "a second effect of a call whose acceptance is unknown": (
        "doubled",
        lambda: (call(accepted=False, results=[], ledger=None, effects=[effect(1), effect(2)]), ()),
    ),
    "a fourth effect of an idempotent tool": (
        "doubled",
        lambda: (call(tool="again", effects=[effect(number) for number in range(1, 5)]), ()),
    ),
    "one attempt twice": ("doubled", lambda: (call(tool="again", effects=[effect(1), effect(1)]), ())),
    "a success without an effect": ("not done", lambda: (call(effects=[]), ())),
    "a success of another attempt": ("not done", lambda: (call(results=[result(attempt=2)]), ())),
    "two different results": (
        "two results",
        lambda: (call(results=[result(), LOST]), (kill(),)),
    ),
    "a loss of a worker that nothing happened to": (
        "unjustified loss",
        lambda: (call(results=[LOST]), (kill("worker-2", pid=78),)),
    ),
    "a loss after the fault was over": (
        "unjustified loss",
        lambda: (call(results=[LOST]), (kill(at=BEGAN - 5),)),
    ),
    "a loss of a call that never ran": (
        "unjustified loss",
        lambda: (call(results=[LOST], ledger=None, steps=[], effects=[]), (kill(),)),
    ),
    "a loss that only its executor's death could excuse": (
        "unjustified loss",
        lambda: (call(results=[], stored=LOST), (kill("executor-1"),)),
    ),
    "said not to have run": (
        "said not to have run",
        lambda: (call(results=[result("error", "DEADLINE_EXCEEDED", 0, message="late; the tool did not run")]), ()),
    ),
    "a message that outlives its deadline": ("left in the queue", lambda: (call(queued=True), ())),
}


@pytest.mark.parametrize("name", SOUND)
def test_what_is_sound_passes(name: str) -> None:
    """Nothing is reported that may happen."""
    one, faults = SOUND[name]()
    assert kinds(judged(one, faults=faults)) == []


@pytest.mark.parametrize("name", BROKEN)
def test_what_breaks_a_promise_is_named(name: str) -> None:
    """Each kind of violation is found, and no other."""
    kind, made = BROKEN[name]
    one, faults = made()
    assert set(kinds(judged(one, faults=faults))) == {kind}


def test_calls_are_counted_by_how_they_ended_and_where_that_is_written() -> None:
    """Accepted is succeeded and failed; an unknown acceptance is neither, unless the mesh has a trace of the call."""
    verdict = judged(
        call(),
        call(id="c2", results=[LOST]),
        call(id="c3", results=[], stored=result(at=0.0)),
        call(id="c4", accepted=False, results=[], effects=[], steps=[], ledger=None),
        call(id="c5", accepted=False, results=[], stored=result("error", "TOOL_ERROR", at=0.0)),
        call(id="c6", stored=LOST),
        faults=(kill(), kill("executor-1", pid=5)),
    )
    assert (verdict.accepted, verdict.unknown, verdict.succeeded) == (5, 1, 3)
    assert verdict.failed == {"WORKER_LOST": 1, "TOOL_ERROR": 1}
    assert verdict.where == {"journal": 3, "stored": 2}
    assert verdict.beside == 1
    assert verdict.violations == ()


def test_a_killed_workers_call_is_decided_by_a_result_or_by_its_next_run() -> None:
    """Both are timed from the kill; a call whose result the worker had handed over is not counted."""
    again = call(
        id="c2",
        tool="again",
        results=[result(attempt=2, at=BEGAN + 40)],
        effects=[effect(1), effect(2)],
        steps=[
            *steps(CallStep.PULLED, CallStep.TAKEN),
            *steps(CallStep.PULLED, CallStep.TAKEN, program="worker-2", pid=78, begin=BEGAN + 11),
        ],
    )
    settled = call(id="c3", steps=steps(CallStep.TAKEN, CallStep.ENDED, CallStep.RESULT_CONFIRMED))
    times = judged(call(results=[LOST]), again, settled, faults=(kill(),)).times
    assert [(each.call, round(each.seconds, 3)) for each in times.undisturbed] == [("c1", 7.0), ("c2", 8.1)]
    assert (times.longest_s(), times.percentile_s(0.5)) == pytest.approx((8.1, 7.0))


def test_a_late_decision_counts_only_while_broker_network_and_executor_are_whole() -> None:
    """13 s are too long; with a fault of the mesh in that time they are told and excused."""
    late = call(results=[result("error", "WORKER_LOST", at=BEGAN + 16)])
    assert kinds(judged(late, faults=(kill(),))) == ["late"]
    for disturbance in (
        Fault(kind="broker kill", target="broker", at=BEGAN + 4, until=BEGAN + 5),
        Fault(kind="cut", target="executor-1", at=BEGAN + 4, until=math.inf),
        kill("executor-1", at=BEGAN + 4, pid=5),
    ):
        verdict = judged(late, faults=(kill(), disturbance))
        assert kinds(verdict) == []
        assert len(verdict.times.all) == 1
    again = call(tool="again", results=[result(at=BEGAN + 16)])
    assert kinds(judged(again, faults=(kill(),))) == []


def test_what_concerns_no_call_is_told_too() -> None:
    """Effects of calls that nobody made, processes that end by themselves, workers that do not drain."""
    ended = LostProcess(BEGAN + 50, "worker-1", 1, "Traceback")
    verdict = judged(call(), strays=("c9",), ended_by_itself=(ended,), undrained=("worker-2",))
    assert kinds(verdict) == ["stray effect", "ended by itself", "undrained"]
    away = Fault(kind="broker stop", target="broker", at=BEGAN + 30, until=BEGAN + 41)
    assert kinds(judged(call(), faults=(away,), ended_by_itself=(ended,))) == []
