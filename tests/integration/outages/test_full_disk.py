"""The disk of a broker is full, and freed again: of the one that `toolmesh up` keeps, and of one in a cluster."""

import asyncio
import io
from contextlib import AsyncExitStack
from pathlib import Path

import msgspec
import pytest
from tests.support.bounded_disk import bounded_disk
from tests.support.broker_cluster import ClusterSettings, NodePlace, broker_cluster
from tests.support.effects import IN_THE_OPEN, Effects, effects
from tests.support.signed_calls import invocation, message
from tests.support.worker_mesh import NAMESPACE, POOL, WorkerMesh, client_of
from tests.support.worker_process import worker_process

from toolmesh_broker.errors import BrokerTimeoutError
from toolmesh_broker.identities import Executor, Worker
from toolmesh_broker.jetstream.layout import LayoutSettings
from toolmesh_broker.ports import OutgoingInvocation
from toolmesh_broker.results import StoredResults
from toolmesh_cli.mesh_broker import BrokerAccess, mesh_broker
from toolmesh_cli.mesh_options import MeshOptions
from toolmesh_cli.terminal import Terminal
from toolmesh_contracts.envelopes.reply import Outcome, Result
from toolmesh_contracts.errors import ErrorCode
from toolmesh_contracts.names import Lane

IDENTITIES = (Executor("client"), Worker(POOL, "worker-1"))
MOST_CALLS = 20
"""What is in pages that were begun still fits, so a full disk takes some calls more."""


@pytest.mark.timeout(150)
@pytest.mark.requirement("call:full-disk")
async def test_a_full_disk_is_told_and_nothing_is_lost_once_it_is_freed(tmp_path: Path) -> None:
    """Callers hear one error, a result that can't be stored is tried again, and calls that can wait come through."""
    async with AsyncExitStack() as stack:
        made = stack.enter_context(effects())
        disk = stack.enter_context(bounded_disk(tmp_path / "disk", mebibytes=48))
        options = MeshOptions(tools=(), data_folder=disk.folder / "data", namespace=NAMESPACE)
        broker = mesh_broker(options, IDENTITIES, Terminal(io.StringIO()))
        mesh = await stack.enter_async_context(client_of(await stack.enter_async_context(broker), tmp_path))
        await stack.enter_async_context(worker_process(mesh, [made.toolset], **IN_THE_OPEN))
        assert (await made.call(mesh.client)).ok

        orphan = await call_of_nobody(mesh, made, seconds=3)
        async with asyncio.timeout(30):
            while not made.happened()["orphan"]:
                await asyncio.sleep(0.05)
        disk.fill()
        with pytest.raises(BrokerTimeoutError, match="did not say until its deadline") as refused:
            await call_until_refused(mesh, made)
        assert "disk may be full" in refused.value.hint
        waiting = asyncio.create_task(made.call(mesh.client))
        async with asyncio.timeout(30):
            while "the broker did not take it, trying again" not in (tmp_path / "worker-1.log").read_text():
                await asyncio.sleep(0.1)
        disk.free()
        async with asyncio.timeout(60):
            assert (await waiting).ok
            assert (await made.call(mesh.client)).ok
            stored = await stored_result(mesh, orphan)
        assert (stored.outcome, stored.message) == (Outcome.OK, "orphan")
        assert made.happened().pop("orphan") == 1
        problems = made.problems(ErrorCode.DEADLINE_EXCEEDED)
        assert [problem for problem in problems if "orphan" not in problem] == []


@pytest.mark.timeout(200)
@pytest.mark.requirement("call:node-lost")
async def test_calls_go_on_beside_a_node_whose_disk_is_full(tmp_path: Path) -> None:
    """The other two keep everything, and the node takes part again once it has space and was started anew."""
    with effects() as made, bounded_disk(tmp_path / "disk", mebibytes=96) as disk:
        places = (NodePlace(store=disk.folder / "store"), NodePlace(), NodePlace())
        settings = ClusterSettings(identities=IDENTITIES, places=places)
        async with (
            broker_cluster(tmp_path / "cluster", settings) as cluster,
            client_of(cluster, tmp_path, layout=LayoutSettings.on_servers(3)) as mesh,
            worker_process(mesh, [made.toolset], lease_seconds=15, **IN_THE_OPEN),
            made.callers(mesh.client, 4),
        ):
            await made.until_ended(8)
            disk.fill()
            async with asyncio.timeout(90):
                await made.until_ended(30)
            disk.free()
            await cluster.nodes[0].stop()
            await cluster.nodes[0].start()
            await cluster.until_current()
            await made.until_ended(4)
        assert made.problems() == []
        assert all(result.ok for result in made.results.values())


async def call_until_refused(mesh: WorkerMesh[BrokerAccess], made: Effects) -> None:
    for _ in range(MOST_CALLS):
        # Where the ledger's page is full before the queue's, the call is kept, and ends at its deadline.
        await made.call(mesh.client, timeout_s=6)


async def call_of_nobody(mesh: WorkerMesh[BrokerAccess], made: Effects, seconds: float) -> str:
    """Queue a call whose executor is gone, so that its result has to be stored; return its id."""
    arguments = msgspec.Raw(msgspec.json.encode({"name": "orphan", "file": str(made.file), "seconds": seconds}))
    call = invocation(tool="effect", exposed_name="effect", executor="gone", arguments=arguments)
    signed = message(mesh.issuer, call, scopes=("*",), audience=NAMESPACE)
    broker = mesh.client.broker
    await broker.publish_invocation(
        OutgoingInvocation(
            pool=POOL,
            subject=broker.subjects.invoke(POOL, Lane.NORMAL, call.caller.agent or "", call.caller.user),
            invocation=call.id,
            body=signed.body,
            deadline_ms=call.deadline_ms,
            headers=signed.headers,
        )
    )
    return call.id


async def stored_result(mesh: WorkerMesh[BrokerAccess], invocation: str) -> Result:
    results = StoredResults(mesh.client.broker)
    while (found := await results.read(POOL, invocation)) is None:
        await asyncio.sleep(0.1)
    return found
