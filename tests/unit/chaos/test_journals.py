"""What the chaos harness reads of a run: journals that grow, effects, faults."""

import os
import random
from pathlib import Path

from tests.load.chaos.coverage import Coverage, Dies
from tests.load.chaos.history import Fault, History, ResultLine
from tests.load.chaos.journal import Journal, JournalReader, read_journal
from tests.load.chaos.sightings import Sightings
from tests.load.chaos.time_line import time_line
from tests.load.chaos.traces import read_calls, read_effects, read_faults
from tests.unit.chaos.test_verdicts import BEGAN, call, kill, result, steps

from toolmesh_contracts.call_steps import EXECUTOR_STEPS, WORKER_STEPS, CallStep


def test_a_line_that_is_not_whole_yet_is_read_when_it_is(tmp_path: Path) -> None:
    """A reader sees each line once, in whole."""
    path = tmp_path / "journal"
    journal, reader = Journal(path), JournalReader(path)
    assert list(reader.news()) == []
    journal.write("first", call="c1")
    with path.open("ab") as file:
        file.write(b'{"event": "sec')
        file.flush()
        assert [line["event"] for line in reader.news()] == ["first"]
        file.write(b'ond"}\n')
    assert [line["event"] for line in reader.news()] == ["second"]
    assert [line["event"] for line in read_journal(path)] == ["first", "second"]


def test_calls_are_put_together_from_all_journals() -> None:
    """Whoever wrote it, and in whatever order the files are read."""
    executor = [
        {"event": "offered", "at": 1.0, "call": "c1", "tool": "once", "executor": "executor-1", "deadline": 40.0},
        {"event": "step", "at": 1.1, "call": "c1", "step": "published", "pid": 5},
        {"event": "accepted", "at": 1.2, "call": "c1", "duplicate": False},
        {"event": "offered", "at": 5.0, "call": "c1", "tool": "once", "executor": "executor-1", "deadline": 40.0},
        {"event": "resumed", "at": 5.1, "call": "c1"},
        {
            "event": "result",
            "at": 6.0,
            "call": "c1",
            "outcome": "ok",
            "code": "",
            "attempt": 1,
            "worker": "worker-1",
            "message": "done",
            "digest": "d",
        },
        {"event": "refused", "at": 7.0, "executor": "executor-1", "code": "X", "message": "no"},
    ]
    worker = [{"event": "step", "at": 1.05, "call": "c1", "step": "pulled", "pid": 9}]
    calls = read_calls({"worker-1": worker, "executor-1": executor})
    one = calls["c1"]
    assert (one.offered_at, one.accepted, one.resumed) == (1.0, True, [5.1])
    assert [(step.step, step.program) for step in one.steps] == [
        (CallStep.PULLED, "worker-1"),
        (CallStep.PUBLISHED, "executor-1"),
    ]
    expected = ResultLine(at=6.0, outcome="ok", code="", attempt=1, worker="worker-1", message="done", digest="d")
    assert one.results == [expected]
    assert read_effects([b"c1 2 7 3000000000", b"c9 1 7 1"], calls) == ["c9"]
    assert [(effect.at, effect.attempt) for effect in one.effects] == [(3.0, 2)]


def test_faults_last_until_their_end_is_noted() -> None:
    """One without an end touches all that comes after."""
    lines = [
        {"event": "begin", "at": 1.0, "number": 0, "kind": "kill", "target": "worker-1", "pid": 9, "step": "pulled"},
        {"event": "begin", "at": 2.0, "number": 1, "kind": "cut", "target": "worker-2"},
        {"event": "end", "at": 3.0, "number": 0},
    ]
    first, second = read_faults(lines)
    assert first == Fault(kind="kill", target="worker-1", at=1.0, until=3.0, pid=9, step="pulled")
    assert second.touches(100, 200)
    assert not first.touches(3.5, 200)


def test_the_least_hit_step_is_next_and_one_tried_in_vain_waits() -> None:
    """Every pair has its turn before any has two more than another."""
    coverage = Coverage(random.Random(1))  # noqa: S311
    pairs = [(step, dies) for step in WORKER_STEPS for dies in Dies]
    others = [(step, dies) for step in CallStep for dies in Dies if step not in WORKER_STEPS]
    coverage.hits.update(dict.fromkeys(others, 1))
    for _ in pairs:
        pair = coverage.next_of(WORKER_STEPS)
        assert pair is not None
        coverage.hit(*pair)
    assert {coverage.hits[pair] for pair in pairs} == {1}
    rare = (CallStep.RENEWED, Dies.WORKER)
    coverage.hits[rare] = 0
    coverage.missed(*rare)
    assert coverage.next_of(WORKER_STEPS) == rare
    for _ in range(3):
        coverage.missed(*rare)
    assert coverage.next_of(WORKER_STEPS) != rare


def test_a_death_goes_where_it_is_due() -> None:
    """A step that is ahead of another program's gets none; what nobody can spare is not chosen."""
    coverage = Coverage(random.Random(1))  # noqa: S311
    coverage.hits.update({(step, dies): 2 for step in WORKER_STEPS for dies in Dies})
    assert coverage.next_of(WORKER_STEPS) is None
    assert coverage.next_of(EXECUTOR_STEPS, []) is None
    chosen = coverage.next_of(EXECUTOR_STEPS, [Dies.WORKER])
    assert chosen is not None
    assert chosen[1] is Dies.WORKER


def test_the_director_knows_who_has_a_call(tmp_path: Path) -> None:
    """A pull alone makes nobody its worker: the id is not verified there."""
    journals = {name: tmp_path / name for name in ("worker-1", "worker-2", "executor-1")}
    written = {name: Journal(path) for name, path in journals.items()}
    sightings = Sightings(journals)
    written["executor-1"].write("offered", call="c1", tool="once", deadline=9.0)
    written["executor-1"].write("accepted", call="c1")
    written["worker-1"].write("step", call="c1", step=CallStep.ADMITTED, pid=os.getpid())
    written["worker-2"].write("step", call="c1", step=CallStep.PULLED, pid=os.getpid())
    assert (sightings.executor_of("c1"), sightings.worker_of("c1")) == ("executor-1", "worker-1")
    assert (sightings.accepted, sightings.undecided()) == (1, {"c1": 9.0})
    written["executor-1"].write("result", call="c1", outcome="ok")
    sightings.look()
    assert (sightings.succeeded, sightings.undecided()) == (1, {})


def test_the_time_line_counts_by_second() -> None:
    """A call ends with its first result in a journal or in the broker; one without ends at its deadline."""
    calls = [
        call(),
        call(id="c2", offered_at=BEGAN + 1.5, results=[result(at=BEGAN + 2.5)]),
        call(id="c3", results=[], steps=steps(CallStep.ENDED, CallStep.RESULT_STORED, begin=BEGAN + 3.0)),
        call(id="c4", results=[], deadline=BEGAN + 60),
    ]
    history = History(began=BEGAN, ended=BEGAN + 7.2, calls={each.id: each for each in calls}, faults=(kill(),))
    line = time_line(history)
    assert line.accepted == (3, 1, 0, 0, 0, 0, 0, 0)
    assert line.ended == (0, 0, 1, 1, 0, 1, 0, 0)
    assert line.in_flight == (3, 4, 3, 2, 2, 1, 1, 1)
    assert [(span.kind, span.target) for span in line.spans] == [("kill", "worker-1")]
