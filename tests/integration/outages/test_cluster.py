"""Broker nodes are killed or hang, one at a time, below real workers and a real client."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.support.broker_cluster import BrokerCluster, ClusterNode, ClusterSettings, NodePlace, broker_cluster
from tests.support.effects import IN_THE_OPEN, Effects, effects
from tests.support.running_mesh import running_mesh
from tests.support.sample_toolsets import ECHO, write_toolset
from tests.support.worker_mesh import POOL, WorkerMesh, client_of
from tests.support.worker_process import worker_process

from toolmesh_broker.identities import Executor, Worker
from toolmesh_broker.jetstream.api import api_request
from toolmesh_broker.jetstream.connection import open_connection
from toolmesh_broker.jetstream.layout import LayoutSettings
from toolmesh_broker.settings import ConnectionSettings
from toolmesh_client.connection_change import ConnectionChange
from toolmesh_contracts.subjects import Subjects

pytestmark = pytest.mark.timeout(240)

WORKERS = ("worker-1", "worker-2")
SETTINGS = ClusterSettings(identities=(Executor("client"), *(Worker(POOL, name) for name in WORKERS)))


@asynccontextmanager
async def mesh_of_three(folder: Path, made: Effects) -> AsyncIterator[WorkerMesh[BrokerCluster]]:
    """Three nodes, everything stored on all of them, and two workers."""
    async with AsyncExitStack() as stack:
        cluster = await stack.enter_async_context(broker_cluster(folder / "cluster", SETTINGS))
        mesh = await stack.enter_async_context(client_of(cluster, folder, layout=LayoutSettings.on_servers(3)))
        for name in WORKERS:
            worker = worker_process(mesh, [made.toolset], name, lease_seconds=15, **IN_THE_OPEN)
            await stack.enter_async_context(worker)
        await cluster.until_current()
        yield mesh


async def leader_first(mesh: WorkerMesh[BrokerCluster]) -> list[ClusterNode]:
    """The nodes, with the one that leads the queue at the head."""
    leader = await mesh.server.leader_of(mesh.client.broker.subjects.invoke_stream(POOL))
    return [leader, *(node for node in mesh.server.nodes if node is not leader)]


@pytest.mark.requirement("call:node-lost")
async def test_calls_go_on_while_each_node_is_killed_and_comes_back(tmp_path: Path) -> None:
    """One after the other, the queue's leader first: every call ends, each effect happens once and is answered for."""
    with effects() as made:
        async with mesh_of_three(tmp_path, made) as mesh, made.callers(mesh.client, 4):
            await made.until_ended(8)
            for node in await leader_first(mesh):
                await node.kill()
                async with asyncio.timeout(60):
                    await made.until_ended(12)
                await node.start()
                await mesh.server.until_current()
        assert made.problems() == []
        assert sum(result.ok for result in made.results.values()) > 0.8 * len(made.results)


async def test_running_tools_outlast_the_choice_of_another_leader(tmp_path: Path) -> None:
    """The node that leads the ledger is killed below calls that can't renew their leases until there is another one."""
    with effects() as made:
        async with mesh_of_three(tmp_path, made) as mesh:
            calls = [asyncio.create_task(made.call(mesh.client, seconds=12)) for _ in range(4)]
            async with asyncio.timeout(30):
                while made.happened().total() < len(calls):
                    await asyncio.sleep(0.05)
            ledger = f"KV_{mesh.client.broker.subjects.ledger_bucket()}"
            await (await mesh.server.leader_of(ledger)).kill()
            async with asyncio.timeout(60):
                assert all(result.ok for result in await asyncio.gather(*calls))
        assert made.problems() == []


async def test_calls_go_on_beside_a_node_that_hangs(tmp_path: Path) -> None:
    """The queue's leader is stopped with its sockets open: who was connected to it goes to another node."""
    with effects() as made:
        async with mesh_of_three(tmp_path, made) as mesh, made.callers(mesh.client, 4):
            await made.until_ended(8)
            node, *_ = await leader_first(mesh)
            await node.pause()
            async with asyncio.timeout(60):
                await made.until_ended(12)
            node.resume()
            await mesh.server.until_current()
            await made.until_ended(4)
        assert made.problems() == []


async def test_a_lone_broker_that_hangs_is_left_and_found_again(tmp_path: Path) -> None:
    """It is stopped until worker and client have given their connections up: then all goes on, and nothing was lost."""
    settings = ClusterSettings(identities=SETTINGS.identities, places=(NodePlace(),))
    with effects() as made:
        async with (
            broker_cluster(tmp_path / "cluster", settings) as cluster,
            client_of(cluster, tmp_path) as mesh,
            worker_process(mesh, [made.toolset], **IN_THE_OPEN),
            made.callers(mesh.client, 4),
        ):
            lost: list[ConnectionChange] = []
            mesh.client.on_connection_change(lost.append)
            await made.until_ended(8)
            await cluster.nodes[0].pause()
            async with asyncio.timeout(60):
                while not lost or "broker connection lost" not in (tmp_path / "worker-1.log").read_text():
                    await asyncio.sleep(0.1)
            cluster.nodes[0].resume()
            async with asyncio.timeout(60):
                await made.until_ended(12)
        assert made.problems() == []


async def test_up_keeps_its_streams_on_three_servers(tmp_path: Path) -> None:
    """`--replicas 3`: calls go on without the queue's leader, and an `up` that asks for less leaves the streams alone."""
    subjects = Subjects("default")
    tools = write_toolset(tmp_path / "tools", {"echo": (ECHO, {})})
    async with broker_cluster(tmp_path / "cluster", ClusterSettings(secured=False)) as cluster:
        options = ("--broker", cluster.url)
        async with running_mesh([tools], options=(*options, "--replicas", "3")) as mesh:
            leader = await cluster.leader_of(subjects.invoke_stream("default"))
            await leader.kill()
            done = await mesh.toolmesh("call", "echo", "--args", '{"text": "x"}')
            assert done.code == 0, done.stderr
            await leader.start()
            await cluster.until_current()
        async with running_mesh([tools], options=options) as mesh:
            found = json.loads((await mesh.toolmesh("doctor", "--json")).stdout)["findings"]
            assert ("streams", "ok") in [(finding["check"], finding["state"]) for finding in found]
            assert not [line for line in mesh.progress if "differs" in line]
            made = await layouts(cluster, subjects)
    assert {name: config["num_replicas"] for name, config in made.items()} == dict.fromkeys(made, 3)
    assert len(made) == 9


async def layouts(cluster: BrokerCluster, subjects: Subjects) -> dict[str, dict[str, Any]]:
    """The configurations of all streams."""
    settings = ConnectionSettings(servers=cluster.urls, namespace=subjects.namespace, identity="looking")
    async with open_connection(settings) as connection:
        listed = await api_request(connection, "STREAM.LIST")
    return {stream["config"]["name"]: stream["config"] for stream in listed["streams"]}
