"""The two promises hold through kills, losses and delays at every step of a call, and would not without its safeguards."""

from pathlib import Path

import pytest
from tests.protocol.machine import (
    Protocol,
    ProtocolWithoutCompareAndSet,
    ProtocolWithoutFencing,
    explore,
    finds_a_violation,
)
from tests.protocol.mesh import Mesh

from toolmesh_broker.memory.hub import MemoryHub
from toolmesh_contracts.envelopes.reply import Outcome
from toolmesh_contracts.errors import ErrorCode

_FEW = 60
_MOST_TO_FIND = 300


@pytest.mark.requirement("call:never-twice")
def test_no_interleaving_loses_a_call_or_runs_it_too_often() -> None:
    """Whatever dies, is lost or late: an accepted call has one result, and no more effects than its manifest allows."""
    explore(Protocol, _FEW)


def test_model_notices_that_fencing_is_off() -> None:
    """Workers that forget a dead worker's attempt run a call twice, and the model finds out."""
    assert finds_a_violation(ProtocolWithoutFencing, _MOST_TO_FIND)


def test_model_notices_that_compare_and_set_is_off() -> None:
    """A ledger that compares nothing lets two workers run one call, and the model finds out."""
    assert finds_a_violation(ProtocolWithoutCompareAndSet, _MOST_TO_FIND)


def test_call_takes_the_named_steps_in_order(tmp_path: Path) -> None:
    """Where nothing goes wrong, the model's one call goes through the steps of the real one, each once."""
    mesh = Mesh(tmp_path, MemoryHub("contract"))
    try:
        mesh.call("once")
        while mesh.network.in_flight:
            mesh.deliver(mesh.network.in_flight[0])
        assert list(mesh.network.delivered.items()) == [
            ("publish", 1),
            ("pull", 1),
            ("results read", 1),
            ("ledger read", 1),
            ("ledger create", 1),
            ("effect", 1),
            ("status", 1),
            ("result", 1),
            ("confirm", 1),
            ("ack", 1),
        ]
        assert [result.outcome for result in mesh.calls[0].results] == [Outcome.OK]
        mesh.check_end()
    finally:
        mesh.close()


@pytest.mark.parametrize(("tool", "code"), [("once", ErrorCode.WORKER_LOST), ("again", None)])
def test_worker_that_dies_after_the_effect_is_answered_for(tmp_path: Path, tool: str, code: ErrorCode | None) -> None:
    """A call that must not run twice ends as lost, one that may runs again; both end once."""
    mesh = Mesh(tmp_path, MemoryHub("contract"))
    try:
        mesh.call(tool)
        while "effect" not in mesh.network.delivered:
            mesh.deliver(mesh.network.in_flight[0])
        dead = mesh.workers[0].site
        for message in [one for one in mesh.network.in_flight if one.site is dead]:
            mesh.network.lose(message)
        mesh.kill(dead)
        mesh.finish()
        mesh.check_end()
        [result] = mesh.calls[0].results
        assert (result.error.code if result.error else None) is code
    finally:
        mesh.close()
