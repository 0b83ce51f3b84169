"""A worker with a cap gives one tenant no more slots than that, and the others to whoever else calls."""

import asyncio
from pathlib import Path

import pytest
from tests.support.sample_toolsets import SLEEPING, write_toolset
from tests.support.worker_mesh import NAMESPACE, WorkerMesh, broker_and_client, worker_in_process

from toolmesh_client import CallRequest
from toolmesh_contracts.envelopes.reply import StatusState

pytestmark = pytest.mark.timeout(90)


async def sleep(mesh: WorkerMesh, user: str, running: dict[str, int], most: dict[str, int]) -> None:
    """One call of a user; notes in `most` how many of the user's calls ever ran at once."""
    token = mesh.issuer.token(user, ("*",), audience=NAMESPACE, agent="tester")
    call = await mesh.client.start(CallRequest(tool="sleep", arguments={"seconds": 0.3}, token=token))
    async for status in call.statuses():
        if status.state is StatusState.STARTED:
            running[user] = running.get(user, 0) + 1
            most[user] = max(most.get(user, 0), running[user])
    result = await call.result()
    running[user] -= 1
    assert result.ok, result.text()


@pytest.mark.requirement("broker:tenant-cap")
async def test_tenant_has_no_more_slots_than_its_cap(tmp_path: Path) -> None:
    """Of four slots one tenant gets one at a time, another one too, and all of their calls end well."""
    toolset = write_toolset(tmp_path / "tools", {"sleep": (SLEEPING, {})})
    running: dict[str, int] = {}
    most: dict[str, int] = {}
    async with (
        broker_and_client(tmp_path) as mesh,
        worker_in_process(mesh, [toolset], concurrency=4, max_running_per_tenant=1),
        asyncio.timeout(60),
        asyncio.TaskGroup() as group,
    ):
        for _ in range(4):
            group.create_task(sleep(mesh, "ada", running, most))
        group.create_task(sleep(mesh, "bob", running, most))
    assert most == {"ada": 1, "bob": 1}
