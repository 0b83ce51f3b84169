"""The network of a worker or of an executor is cut: packets vanish, and neither end is told."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
from tests.support.broker_cluster import BrokerCluster, ClusterSettings, NodePlace, broker_cluster
from tests.support.brokers import eventually
from tests.support.effects import IN_THE_OPEN, Effects, effects
from tests.support.network_namespaces import Network, network
from tests.support.worker_mesh import POOL, WorkerMesh, client_of
from tests.support.worker_process import worker_process

from toolmesh_broker.identities import Executor, Worker
from toolmesh_client import CallRequest
from toolmesh_client.connection_change import ConnectionChange
from toolmesh_contracts.errors import ErrorCode
from toolmesh_contracts.names import SHARD_COUNT, Lane

pytestmark = pytest.mark.timeout(120)

NOTICED_S = 40.0
"""Twice what the pings' settings bound it to: the machine may be busy."""
IDENTITIES = (Executor("client"), Worker(POOL, "worker-1"))


@asynccontextmanager
async def mesh_on_machines(folder: Path, made: Effects) -> AsyncIterator[tuple[WorkerMesh[BrokerCluster], Network]]:
    """Broker and worker on machines of their own; this thread, and so the client, on the machine `executor`."""
    async with AsyncExitStack() as stack:
        net = stack.enter_context(network("broker", "executor", "worker"))
        stack.enter_context(net["executor"].entered())
        place = NodePlace(address=net["broker"].address, prefix=net["broker"].prefix)
        settings = ClusterSettings(identities=IDENTITIES, places=(place,))
        cluster = await stack.enter_async_context(broker_cluster(folder / "cluster", settings))
        mesh = await stack.enter_async_context(client_of(cluster, folder))
        worker = worker_process(mesh, [made.toolset], prefix=net["worker"].prefix, **IN_THE_OPEN)
        await stack.enter_async_context(worker)
        yield mesh, net


def log_of_worker(mesh: WorkerMesh[BrokerCluster]) -> list[str]:
    """What the worker logged."""
    lines = (mesh.folder / "worker-1.log").read_text().splitlines()
    return [str(json.loads(line).get("event")) for line in lines if line.startswith("{")]


async def clients_of_broker(mesh: WorkerMesh[BrokerCluster]) -> set[str]:
    """Who is connected, as the broker sees it."""
    _, page = await mesh.server.nodes[0].monitored("/connz")
    return {connection.get("name", "") for connection in (page or {}).get("connections", ())}


async def waiting_pulls(mesh: WorkerMesh[BrokerCluster]) -> int:
    """Pulls that wait at the broker's consumers of calls."""
    _, page = await mesh.server.nodes[0].monitored("/jsz?accounts=true&streams=true&consumers=true")
    queue = mesh.client.broker.subjects.invoke_stream(POOL)
    return sum(
        consumer["num_waiting"]
        for account in page["account_details"]
        for stream in account.get("stream_detail") or ()
        if stream["name"] == queue
        for consumer in stream.get("consumer_detail") or ()
    )


@pytest.mark.requirement("broker:half-open")
async def test_a_cut_worker_is_noticed_by_both_ends_and_works_again(tmp_path: Path) -> None:
    """Its call is decided meanwhile, its effect happened once, and its pulls are there again after the cut."""
    with effects() as made:
        async with mesh_on_machines(tmp_path, made) as (mesh, net):
            call = asyncio.create_task(made.call(mesh.client, seconds=20))
            await eventually(lambda: made.happened().total() == 1)
            net.cut("worker")
            async with asyncio.timeout(NOTICED_S):
                result = await call
                while "broker connection lost, reconnecting" not in log_of_worker(mesh):
                    await asyncio.sleep(0.1)
                while any(name.startswith("worker") for name in await clients_of_broker(mesh)):
                    await asyncio.sleep(0.1)
            assert result.error is not None
            assert result.error.code is ErrorCode.WORKER_LOST
            net.heal("worker")
            async with asyncio.timeout(30):
                await mesh.client.catalog.wait_until(lambda view: bool(view.tools()))
                while await waiting_pulls(mesh) < SHARD_COUNT * len(Lane):
                    await asyncio.sleep(0.1)
                assert (await made.call(mesh.client)).ok
        assert made.problems() == []


async def test_a_worker_that_is_cut_for_a_moment_keeps_its_call(tmp_path: Path) -> None:
    """Shorter than its lease: nothing is lost, and the result that it could not send comes after the cut."""
    with effects() as made:
        async with mesh_on_machines(tmp_path, made) as (mesh, net):
            call = asyncio.create_task(made.call(mesh.client, seconds=0.5))
            await eventually(lambda: made.happened().total() == 1)
            net.cut("worker")
            await asyncio.sleep(1.2)  # the tool ends in this time
            assert not call.done()
            net.heal("worker")
            async with asyncio.timeout(30):
                assert (await call).ok
        assert made.problems() == []


@pytest.mark.requirement("broker:half-open")
async def test_a_cut_executor_has_its_result_after_the_cut(tmp_path: Path) -> None:
    """The worker ends the call and stores what nobody confirms; the executor notices the cut, and finds it."""
    with effects() as made:
        async with mesh_on_machines(tmp_path, made) as (mesh, net):
            changes: list[ConnectionChange] = []
            mesh.client.on_connection_change(changes.append)
            call = await mesh.client.start(
                CallRequest(tool="effect", arguments={"name": "one", "file": str(made.file), "seconds": 1})
            )
            await anext(call.statuses())
            net.cut("executor")
            async with asyncio.timeout(NOTICED_S):
                while ConnectionChange.LOST not in changes:
                    await asyncio.sleep(0.1)
                while "result stored, nobody confirmed it" not in log_of_worker(mesh):
                    await asyncio.sleep(0.1)
            assert not call.done
            net.heal("executor")
            async with asyncio.timeout(30):
                made.results["one"] = await call.result()
                assert made.results["one"].ok
                assert (await made.call(mesh.client)).ok
        assert made.problems() == []
