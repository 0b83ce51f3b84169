"""The disk of the broker that `toolmesh up` keeps is full, and freed again."""

import asyncio
import io
from contextlib import AsyncExitStack
from pathlib import Path

import msgspec
import pytest
from tests.support.bounded_disk import bounded_disk
from tests.support.effects import IN_THE_OPEN, Effects, effects
from tests.support.signed_calls import invocation, message
from tests.support.worker_mesh import NAMESPACE, POOL, WorkerMesh, client_of
from tests.support.worker_process import worker_process

from toolmesh_broker.errors import BrokerTimeoutError
from toolmesh_broker.identities import Executor, Worker
from toolmesh_broker.ports import OutgoingInvocation
from toolmesh_broker.results import StoredResults
from toolmesh_cli.mesh_broker import BrokerAccess, mesh_broker
from toolmesh_cli.mesh_options import MeshOptions
from toolmesh_cli.terminal import Terminal
from toolmesh_client.result import CallResult
from toolmesh_contracts.envelopes.reply import Outcome, Result
from toolmesh_contracts.names import Lane

IDENTITIES = (Executor("client"), Worker(POOL, "worker-1"))
MOST_CALLS = 50
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

        orphan = await call_of_nobody(mesh, made, seconds=4)
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
        assert [one for one in made.problems() if "orphan" not in one] == []


async def call_until_refused(mesh: WorkerMesh[BrokerAccess], made: Effects) -> None:
    for _ in range(MOST_CALLS):
        result: CallResult = await made.call(mesh.client, timeout_s=6)
        assert result.ok


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
