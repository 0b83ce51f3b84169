"""Calls over a real nats-server: results, cancel, expiry, and a broker that is killed in the middle."""

import asyncio
import contextlib
import dataclasses
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest
from tests.support.brokers import jetstream_settings, provisioned_jetstream
from tests.support.nats_server import NatsServerProcess, nats_server
from tests.support.scripted_worker import Behaviour, Job, ScriptedWorker, echo, scripted_worker, until_cancelled
from tests.support.tool_client import QUICK, client_settings, until

from toolmesh_broker.errors import BrokerError, BrokerUnreachableError
from toolmesh_broker.jetstream.broker import connect as connect_broker
from toolmesh_client import CallRequest, CallResult, Client, ConnectionChange, Patience, connect
from toolmesh_contracts.envelopes.reply import Result
from toolmesh_contracts.errors import ErrorCode

pytestmark = pytest.mark.timeout(90)


@contextlib.asynccontextmanager
async def nats_mesh(
    folder: Path, tools: Mapping[str, Behaviour], *, slots: int = 8, patience: Patience = QUICK
) -> AsyncIterator[tuple[NatsServerProcess, Client, ScriptedWorker]]:
    """A server, a client and a scripted worker; the client knows the worker's tools."""
    async with (
        nats_server(folder / "nats") as server,
        provisioned_jetstream(server),
        connect_broker(jetstream_settings(server, "worker")) as broker,
        scripted_worker(broker, tools, slots=slots) as worker,
        connect(client_settings(folder, servers=(server.url,), patience=patience)) as client,
    ):
        yield server, client, worker


def code_of(result: CallResult) -> ErrorCode:
    assert result.error is not None
    return result.error.code


async def test_many_calls_over_jetstream(tmp_path: Path) -> None:
    """Two hundred at once, each with its own result and confirmed."""
    async with nats_mesh(tmp_path, {"echo": echo}) as (_, client, worker):
        results = await asyncio.gather(*(client.call("echo", {"n": n}) for n in range(200)))
        assert [result.data["n"] for result in results] == list(range(200))
        await until(lambda: len(worker.confirmed) == 200, "all confirmations")


async def test_large_contents_over_jetstream(tmp_path: Path) -> None:
    """5 MB of arguments go by claim check; a local file goes along."""
    (tmp_path / "file.bin").write_bytes(b"\0\xff" * 1_000_000)

    async def measure(job: Job) -> Result:
        store = job.worker.broker.payloads("default")
        assert job.invocation.arguments_payload is not None
        arguments = [len(chunk) async for chunk in store.open(job.invocation.arguments_payload)]
        file = [len(chunk) async for chunk in store.open(job.invocation.artifacts["f"].payload)]
        return job.ok([sum(arguments), sum(file)])

    async with nats_mesh(tmp_path, {"measure": measure}) as (_, client, _):
        arguments = b'{"x":"' + b"a" * 5_000_000 + b'"}'
        result = await client.call("measure", arguments, artifacts={"f": tmp_path / "file.bin"})
        assert result.data == [len(arguments), 2_000_000]


@pytest.mark.requirement("call:cancelled")
async def test_a_queued_call_is_withdrawn_from_the_stream(tmp_path: Path) -> None:
    """The message is deleted by its sequence, and a worker that comes later has nothing to run."""
    async with nats_mesh(tmp_path, {"echo": echo}, slots=0) as (_, client, worker):
        call = await client.start(CallRequest(tool="echo"))
        result = await call.cancel("not needed")
        assert code_of(result) is ErrorCode.CANCELLED
        async with scripted_worker(worker.broker, {"echo": echo}, name="worker-2") as late:
            assert (await client.call("echo", {"n": 1})).data == {"n": 1}
            assert call.invocation not in late.taken + late.skipped


async def test_a_running_call_is_cancelled(tmp_path: Path) -> None:
    """The control message reaches the worker that the ledger names."""
    async with nats_mesh(tmp_path, {"wait": until_cancelled}) as (_, client, worker):
        call = await client.start(CallRequest(tool="wait"))
        await until(lambda: worker.running == (call.invocation,), "the run")
        assert code_of(await call.cancel()) is ErrorCode.CANCELLED


@pytest.mark.requirement("call:deadline")
async def test_an_expired_call_is_reported_and_never_runs(tmp_path: Path) -> None:
    """The broker drops it silently; the client says what happened."""
    async with nats_mesh(tmp_path, {"echo": echo}, slots=0) as (_, client, worker):
        result = await client.call("echo", timeout_s=1)
        assert code_of(result) is ErrorCode.DEADLINE_EXCEEDED
        async with scripted_worker(worker.broker, {"echo": echo}, name="worker-2") as late:
            assert (await client.call("echo", {"n": 1})).data == {"n": 1}
            assert result.invocation not in late.taken


@pytest.mark.parametrize("how", ["kill", "stop"])
async def test_every_caller_gets_an_answer_when_the_broker_restarts(tmp_path: Path, how: str) -> None:
    """100 calls queued, running and being published while the broker goes and comes: each ends, none twice."""
    runs: list[int] = []

    async def count(job: Job) -> Result:
        runs.append(job.arguments["n"])
        await asyncio.sleep(0.02)
        return job.ok(job.arguments["n"])

    async with nats_mesh(tmp_path, {"count": count}, slots=4) as (server, client, worker):

        async def one(n: int) -> int | ErrorCode:
            try:
                result = await client.call("count", {"n": n}, timeout_s=40)
            except BrokerError as error:
                return error.code
            return int(result.data) if result.ok else code_of(result)

        calls = [asyncio.create_task(one(n)) for n in range(100)]
        await until(lambda: len(worker.taken) >= 10, "some runs")
        await (server.kill() if how == "kill" else server.stop())
        await until(lambda: not client.broker.connected, "the loss")
        late = [asyncio.create_task(one(n)) for n in range(100, 110)]
        await server.start()
        answers = await asyncio.gather(*calls, *late)
        wrong = [answer for n, answer in enumerate(answers) if answer != n and not isinstance(answer, ErrorCode)]
        assert wrong == []
        assert len(runs) == len(set(runs)), "a call ran twice"
        # What ran or waited comes through; only a call cut in a step of its worker may be of unknown outcome.
        assert sum(isinstance(answer, int) for answer in answers) >= 90
        assert client.open_calls == 0
        assert all(isinstance(failure, BrokerError) for failure in worker.failures)


@pytest.mark.requirement("call:confirm-or-store")
async def test_a_result_sent_while_the_client_was_away_is_found(tmp_path: Path) -> None:
    """No confirmation: the worker stores it; the client looks when it is back."""
    release = asyncio.Event()

    async def slow(job: Job) -> Result:
        await release.wait()
        return job.ok("kept for you")

    async with nats_mesh(tmp_path, {"slow": slow}) as (server, client, worker):
        call = await client.start(CallRequest(tool="slow", timeout_s=60))
        await until(lambda: worker.running == (call.invocation,), "the run")
        await server.kill()
        await until(lambda: not client.broker.connected and not worker.broker.connected, "the loss")
        release.set()
        await server.start()
        assert (await call.result()).data == "kept for you"


async def test_a_deadline_that_passes_without_a_broker_ends_the_call(tmp_path: Path) -> None:
    """The caller is not kept waiting for a broker that is away, and learns that the outcome is unknown."""
    async with nats_mesh(tmp_path, {"wait": until_cancelled}) as (server, client, worker):
        call = await client.start(CallRequest(tool="wait", timeout_s=2))
        await until(lambda: worker.running == (call.invocation,), "the run")
        await server.kill()
        result = await asyncio.wait_for(call.result(), 30)
        assert code_of(result) is ErrorCode.DEADLINE_EXCEEDED
        assert f"can't say what became of call {call.invocation}" in result.message
        assert result.error is not None
        assert "check what the tool did" in result.error.hint


async def test_no_verdict_is_awaited_of_a_broker_that_is_away(tmp_path: Path) -> None:
    """A moment after the deadline the call ends: nobody can be asked how, so the patience for an answer is not used up."""
    patient = dataclasses.replace(QUICK, verdict_s=600.0)
    async with nats_mesh(tmp_path, {"wait": until_cancelled}, patience=patient) as (server, client, worker):
        call = await client.start(CallRequest(tool="wait", timeout_s=2))
        await until(lambda: worker.running == (call.invocation,), "the run")
        await server.kill()
        assert code_of(await asyncio.wait_for(call.result(), 30)) is ErrorCode.DEADLINE_EXCEEDED


async def test_calls_without_a_broker_can_be_given_up(tmp_path: Path) -> None:
    """The loss is told at once; given up, a queued and a running call end as unknown, with their ids, and closing is quick."""
    patient = dataclasses.replace(QUICK, close_s=600.0)
    changes: list[ConnectionChange] = []
    async with asyncio.timeout(60), nats_mesh(tmp_path, {"wait": until_cancelled}, slots=1, patience=patient) as mesh:
        server, client, worker = mesh
        forget = client.on_connection_change(changes.append)
        calls = [await client.start(CallRequest(tool="wait", arguments={"x": "y" * size})) for size in (1, 500_000)]
        await until(lambda: bool(worker.running), "the run")
        await server.kill()
        await until(lambda: changes == [ConnectionChange.LOST], "the news")
        client.give_up_calls("the mesh has ended", lambda invocation: f"look at {invocation}")
        for call in calls:
            result = await call.result()
            assert code_of(result) is ErrorCode.BROKER_UNREACHABLE
            assert result.message.startswith("the mesh has ended; whether 'wait' ran")
            assert call.invocation in result.message
            assert result.error is not None
            assert result.error.hint == f"look at {call.invocation}"
        await until(lambda: client.open_calls == 0, "the end of what looks after the calls")
        await server.start()
        await until(lambda: changes == [ConnectionChange.LOST, ConnectionChange.BACK], "the good news")
        forget()


async def test_no_broker_is_a_typed_error(tmp_path: Path) -> None:
    """Connecting to nothing says BROKER_UNREACHABLE within the connect timeout."""
    settings = client_settings(tmp_path)
    connection = dataclasses.replace(settings.connection, connect_timeout_s=0.5)
    with pytest.raises(BrokerUnreachableError) as caught:
        async with connect(dataclasses.replace(settings, connection=connection)):
            pass
    assert caught.value.code is ErrorCode.BROKER_UNREACHABLE
