"""Interleavings of the steps of one call, with kills, losses and delays, as a hypothesis state machine."""

import shutil
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from tests.protocol.broken import ForgetfulLedger, HubWithoutCompareAndSet
from tests.protocol.mesh import Mesh, PromiseBrokenError
from tests.support.tool_client import NAMESPACE

from toolmesh_broker.ledger import Ledger
from toolmesh_broker.memory.hub import MemoryHub

__all__ = ["Protocol", "ProtocolWithoutCompareAndSet", "ProtocolWithoutFencing", "explore", "finds_a_violation"]

_STEPS = 60
_MOST_CALLS = 2
_MOST_WORKERS = 3
_picks = st.integers(0, 2**16)
_tools = st.sampled_from(["once", "again"])


class Protocol(RuleBasedStateMachine):
    """The protocol as it is."""

    hub: type[MemoryHub] = MemoryHub
    ledger: type[Ledger] = Ledger
    folder: Path
    deaths: Counter[str]

    def __init__(self) -> None:
        super().__init__()
        self._faults = 0
        self.mesh = Mesh(self.folder, self.hub(NAMESPACE), self.ledger)

    @initialize(tool=_tools, workers=st.integers(0, 2), faults=st.integers(1, 6), progress=st.integers(0, 12))
    def begin(self, tool: str, workers: int, faults: int, progress: int) -> None:
        """A call that has come so far, workers, and how much will go wrong."""
        self._faults = faults
        for _ in range(workers):
            self.mesh.start_worker()
        self.mesh.call(tool)
        self._in_order(progress)

    @precondition(lambda self: len(self.mesh.calls) < _MOST_CALLS)
    @rule(tool=_tools)
    def call(self, tool: str) -> None:
        """One more call."""
        self.mesh.call(tool)

    @precondition(lambda self: self.mesh.network.in_flight)
    @rule(pick=_picks)
    def deliver(self, pick: int) -> None:
        """Any message arrives."""
        self.mesh.deliver(self._message(pick))

    @precondition(lambda self: self.mesh.network.in_flight)
    @rule(count=st.integers(1, 8))
    def arrive(self, count: int) -> None:
        """Some messages arrive as they were sent."""
        self._in_order(count)

    @rule(seconds=st.sampled_from([0.5, 2.0, 3.0, 7.0, 16.0]))
    def pass_time(self, seconds: float) -> None:
        """Nothing arrives for a while."""
        self.mesh.pass_time(seconds)

    @precondition(lambda self: self._faults and self.mesh.network.in_flight)
    @rule(pick=_picks)
    def kill(self, pick: int) -> None:
        """Whoever sent a message that is under way dies; a new executor takes the place of one that died."""
        self._faults -= 1
        self.mesh.kill(self._message(pick).site)

    @precondition(lambda self: self._faults and self.mesh.network.in_flight)
    @rule(pick=_picks, taken=st.booleans())
    def lose(self, pick: int, *, taken: bool) -> None:
        """A message is lost, or the broker takes it and its sender never hears of it."""
        self._faults -= 1
        if taken:
            self.mesh.deliver(self._message(pick), answered=False)
        else:
            self.mesh.network.lose(self._message(pick))

    @precondition(lambda self: self._faults and self.mesh.workers)
    @rule(pick=_picks)
    def drain(self, pick: int) -> None:
        """SIGTERM of a worker."""
        self._faults -= 1
        self.mesh.drain_worker(self.mesh.workers[pick % len(self.mesh.workers)])

    @precondition(lambda self: self._faults)
    @rule(pick=_picks)
    def cancel(self, pick: int) -> None:
        """The caller changes its mind."""
        self._faults -= 1
        self.mesh.cancel(self.mesh.calls[pick % len(self.mesh.calls)])

    @precondition(lambda self: len(self.mesh.workers) < _MOST_WORKERS)
    @rule()
    def start_worker(self) -> None:
        """A worker starts."""
        self.mesh.start_worker()

    @invariant()
    def promises_hold(self) -> None:
        """At every moment."""
        self.mesh.check()

    def teardown(self) -> None:
        """Let everything come to its end, and look at what came out."""
        try:
            if self.mesh.calls:
                self.mesh.finish()
                self.mesh.check_end()
            self.deaths.update(self.mesh.steps_at_death)
        finally:
            self.mesh.close()

    def _in_order(self, count: int) -> None:
        for _ in range(count):
            if self.mesh.network.in_flight:
                self.mesh.deliver(self._message(0))

    def _message(self, pick: int) -> Any:
        return self.mesh.network.in_flight[pick % len(self.mesh.network.in_flight)]


class ProtocolWithoutCompareAndSet(Protocol):
    """Every write to the ledger succeeds, whatever was written meanwhile."""

    hub = HubWithoutCompareAndSet


class ProtocolWithoutFencing(Protocol):
    """Workers take a dead worker's call as if nobody had had it."""

    ledger = ForgetfulLedger


def explore(machine: type[Protocol], examples: int, *, same_each_time: bool = True) -> Counter[str]:
    """Run so many examples; return how often a process died with which of its steps under way.

    Raises:
        PromiseBrokenError: found one in which a promise does not hold; hypothesis prints it.
    """
    folder = Path(tempfile.mkdtemp(prefix="toolmesh-protocol-"))
    deaths: Counter[str] = Counter()
    bound = type(machine.__name__, (machine,), {"folder": folder, "deaths": deaths})
    try:
        run_state_machine_as_test(
            bound,
            settings=settings(
                max_examples=examples,
                stateful_step_count=_STEPS,
                deadline=None,
                database=None,
                derandomize=same_each_time,
                report_multiple_bugs=False,
                phases=(Phase.generate,),
                suppress_health_check=list(HealthCheck),
            ),
        )
    finally:
        shutil.rmtree(folder)
    return deaths


def finds_a_violation(machine: type[Protocol], examples: int) -> bool:
    """Tell whether so many examples find that a promise does not hold."""
    try:
        explore(machine, examples)
    except PromiseBrokenError:
        return True
    return False
