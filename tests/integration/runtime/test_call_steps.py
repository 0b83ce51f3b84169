"""An injected observer sees each step of a call on the worker, in order, before what comes next."""

from pathlib import Path

from tests.support.tool_client import until
from tests.support.worker_mesh import broker_and_client, worker_in_process

from toolmesh_broker.results import StoredResults
from toolmesh_client import CallRequest, CallResult
from toolmesh_contracts.call_steps import CallStep

ODD = Path(__file__).parents[2] / "toolsets" / "odd"


async def test_a_workers_steps_are_seen_in_order(tmp_path: Path) -> None:
    """A call that outlives a renewal, whose result is confirmed, and one whose result nobody keeps, which is stored."""
    seen: dict[str, list[CallStep]] = {}
    stored_at: list[bool] = []

    async def observe(step: CallStep, invocation: str) -> None:
        steps = seen.setdefault(invocation, [])
        if steps[-1:] != [CallStep.RENEWED] or step is not CallStep.RENEWED:
            steps.append(step)
        if step in {CallStep.ENDED, CallStep.RESULT_STORED}:
            stored_at.append(await StoredResults(mesh.client.broker).read("default", invocation) is not None)

    async def refuse(_result: CallResult) -> None:
        raise OSError("no room")

    async with broker_and_client(tmp_path) as mesh, worker_in_process(mesh, [ODD], observer=observe):
        long = await mesh.client.run(CallRequest(tool="slow", arguments={"seconds": 3}))
        unkept = await mesh.client.run(CallRequest(tool="slow", arguments={"seconds": 0}), keep=refuse)
        await until(
            lambda: all(steps[-1] is CallStep.ACKED for steps in seen.values()), "both calls to be acknowledged"
        )
    begin = [CallStep.PULLED, CallStep.ADMITTED, CallStep.TAKEN, CallStep.RUNNING]
    assert seen == {
        long.invocation: [*begin, CallStep.RENEWED, CallStep.ENDED, CallStep.RESULT_CONFIRMED, CallStep.ACKED],
        unkept.invocation: [*begin, CallStep.ENDED, CallStep.RESULT_STORED, CallStep.ACKED],
    }
    assert stored_at == [False, False, True]
