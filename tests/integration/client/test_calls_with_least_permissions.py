"""Everything a call may need works with an executor's and a worker's own credentials, which allow nothing else."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import msgspec
import pytest
from tests.support.embedded_broker import POOLS, embedded_broker
from tests.support.scripted_worker import Behaviour, Job, ScriptedWorker, echo, scripted_worker, until_cancelled
from tests.support.tool_client import client_settings, until

from toolmesh_broker.identities import Executor, Provisioner, Worker
from toolmesh_broker.jetstream.broker import connect as connect_broker
from toolmesh_client import CallRequest, Client, connect
from toolmesh_contracts.envelopes.reply import Outcome, Result
from toolmesh_contracts.envelopes.values import ArtifactRef
from toolmesh_contracts.errors import ErrorCode

pytestmark = pytest.mark.timeout(60)


@contextlib.asynccontextmanager
async def guarded_mesh(
    folder: Path, tools: Mapping[str, Behaviour], *, slots: int = 8
) -> AsyncIterator[tuple[Client, ScriptedWorker]]:
    """An embedded broker, an executor's client and a worker of pool alpha, each with its own key."""
    async with (
        embedded_broker(folder / "broker") as server,
        connect_broker(server.connection(Provisioner())) as provisioner,
        provisioner.provisioned(POOLS),
        connect_broker(server.connection(Worker("alpha", "w1"))) as broker,
        scripted_worker(broker, tools, name="w1", pool="alpha", slots=slots) as worker,
        connect(client_settings(folder, executor="one", connection=server.connection(Executor("one")))) as client,
    ):
        yield client, worker


async def test_arguments_results_and_files_of_any_size(tmp_path: Path) -> None:
    """Claim checks both ways, a file each way, and their removal."""
    (tmp_path / "in.bin").write_bytes(b"x" * 1_000_000)

    async def work(job: Job) -> Result:
        store = job.worker.broker.payloads("alpha")
        assert job.invocation.arguments_payload is not None
        size = sum([len(chunk) async for chunk in store.open(job.invocation.arguments_payload)])
        file = b"".join([chunk async for chunk in store.open(job.invocation.artifacts["f"].payload)])
        made = await store.put(f"{job.invocation.id}.out", file.upper(), 60.0)
        document = msgspec.json.encode({"message": "done", "data": {"size": size, "filler": "y" * 2_000_000}})
        payload = await store.put(f"{job.invocation.id}.result", document, 60.0)
        ref = ArtifactRef(filename="out.bin", mime_type="x/y", size=made.size, sha256=made.sha256, payload=made)
        return job.result(Outcome.OK, payload=payload, artifacts=(ref,))

    async with guarded_mesh(tmp_path, {"work": work}) as (client, worker):
        arguments = b'{"x":"' + b"a" * 1_000_000 + b'"}'
        result = await client.call("work", arguments, artifacts={"f": tmp_path / "in.bin"})
        assert result.data["size"] == len(arguments)
        await client.save_artifact(result.artifacts[0], tmp_path / "out.bin")
        assert (tmp_path / "out.bin").read_bytes() == b"X" * 1_000_000
        await until(lambda: worker.confirmed == [result.invocation], "the confirmation")


async def test_cancel_expiry_and_stored_results(tmp_path: Path) -> None:
    """Ledger marks, withdrawal from the stream, control messages and reading a stored result are allowed."""
    async with guarded_mesh(tmp_path, {"echo": echo, "wait": until_cancelled}, slots=1) as (client, worker):
        running = await client.start(CallRequest(tool="wait"))
        await until(lambda: worker.running == (running.invocation,), "the run")
        queued = await client.start(CallRequest(tool="echo"))
        withdrawn = await queued.cancel()
        expired = await client.call("echo", timeout_s=1)
        stored = await client.start(CallRequest(tool="echo"))
        answer = Result(invocation=stored.invocation, attempt=1, tool="echo", outcome=Outcome.OK, message="kept")
        results = worker.broker.keyvalue(worker.broker.subjects.result_bucket())
        key = worker.broker.subjects.call_key("alpha", stored.invocation)
        await results.create(key, msgspec.json.encode(answer), 60.0)
        assert (await stored.result()).message == "kept"
        stopped = await running.cancel()
        codes = [result.error.code if result.error else None for result in (withdrawn, expired, stopped)]
        assert codes == [ErrorCode.CANCELLED, ErrorCode.DEADLINE_EXCEEDED, ErrorCode.CANCELLED]
        assert stopped.message == "stopped on request"


@pytest.mark.requirement("call:confirm-or-store")
async def test_programs_on_one_profile_confirm_their_own_results(tmp_path: Path) -> None:
    """Several connections with one executor's credentials: every call's result is confirmed, none is only stored."""
    async with (
        embedded_broker(tmp_path / "broker") as server,
        connect_broker(server.connection(Provisioner())) as provisioner,
        provisioner.provisioned(POOLS),
        connect_broker(server.connection(Worker("alpha", "w1"))) as broker,
        scripted_worker(broker, {"echo": echo}, name="w1", pool="alpha") as worker,
    ):
        settings = client_settings(tmp_path, executor="one", connection=server.connection(Executor("one")), shared=True)
        async with connect(settings) as first, connect(settings) as second, connect(settings):
            calls = [client.call("echo", {"n": n}) for n, client in enumerate([first, second] * 20)]
            results = await asyncio.gather(*calls)
            assert [result.data["n"] for result in results] == list(range(40))
            await until(lambda: len(worker.confirmed) == 40, "the confirmations")
            assert worker.stored == []
