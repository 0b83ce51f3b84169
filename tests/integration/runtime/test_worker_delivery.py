"""Redelivery, cancellation, draining, replays and reloads, through a real broker and real workers."""

import asyncio
import base64
import contextlib
import os
import shutil
import signal
import time
from pathlib import Path

import msgspec
import pytest
import yaml
from tests.support.agent_folder import agent_folder
from tests.support.worker_mesh import NAMESPACE, POOL, WorkerMesh, broker_and_client, worker_in_process
from tests.support.worker_process import worker_process

from toolmesh_broker.catalog import CatalogView
from toolmesh_broker.identities import Executor, Provisioner, Worker
from toolmesh_broker.jetstream.api import ApiError, api_request
from toolmesh_broker.jetstream.broker import connect
from toolmesh_broker.jetstream.connection import open_connection
from toolmesh_broker.ports import OutgoingInvocation
from toolmesh_client import CallRequest
from toolmesh_contracts.envelopes.invocation import Invocation
from toolmesh_contracts.envelopes.reply import Outcome
from toolmesh_contracts.envelopes.task import DeadLetter
from toolmesh_contracts.envelopes.values import Caller
from toolmesh_contracts.errors import ErrorCode
from toolmesh_contracts.ids import new_invocation_id
from toolmesh_contracts.invocation_headers import InvocationHeaders
from toolmesh_contracts.names import Lane
from toolmesh_contracts.wire import decode, encode
from toolmesh_identity.signatures import CallFields, sign_call

ODD = Path(__file__).parents[2] / "toolsets" / "odd"
WEATHER = Path(__file__).parents[3] / "examples" / "weather"
ACK_WAIT_S = 6.0


@pytest.mark.requirement("call:worker-lost")
async def test_killed_worker_ends_its_call_as_lost(tmp_path: Path) -> None:
    """Kill -9 in the middle of a call: within twice ack_wait the caller hears that the outcome is unknown."""
    async with broker_and_client(tmp_path, workers=("worker-1", "worker-2")) as mesh:
        async with worker_process(mesh, [ODD], "worker-1") as doomed:
            call = await mesh.client.start(CallRequest(tool="slow", arguments={"seconds": 40}))
            await anext(call.statuses())
            async with worker_in_process(mesh, [ODD], worker_id="worker-2"):
                os.kill(doomed.pid, signal.SIGKILL)
                async with asyncio.timeout(2 * ACK_WAIT_S):
                    result = await call.result()
    assert result.error is not None
    assert result.error.code is ErrorCode.WORKER_LOST
    assert "unknown" in result.error.message


@pytest.mark.requirement("call:run-again")
async def test_killed_worker_of_an_idempotent_tool_has_a_successor(tmp_path: Path) -> None:
    """A tool that may run twice is run again elsewhere, as attempt 2."""
    async with broker_and_client(tmp_path, workers=("worker-1", "worker-2")) as mesh:
        async with worker_process(mesh, [ODD], "worker-1") as doomed:
            call = await mesh.client.start(CallRequest(tool="slow_idempotent", arguments={"seconds": 4}))
            await anext(call.statuses())
            os.kill(doomed.pid, signal.SIGKILL)
        async with worker_in_process(mesh, [ODD], worker_id="worker-2"), asyncio.timeout(2 * ACK_WAIT_S + 5):
            result = await call.result()
    assert (result.outcome, result.attempt, result.worker) == (Outcome.OK, 2, "worker-2")


@pytest.mark.requirement("call:cancelled")
async def test_running_call_is_cancelled_at_once(tmp_path: Path) -> None:
    """The tool is killed, and the caller hears why long before it would have ended."""
    async with broker_and_client(tmp_path) as mesh, worker_in_process(mesh, [ODD]):
        call = await mesh.client.start(CallRequest(tool="slow", arguments={"seconds": 40}))
        await anext(call.statuses())
        await call.cancel("enough")
        async with asyncio.timeout(10):
            result = await call.result()
    assert result.error is not None
    assert result.error.code is ErrorCode.CANCELLED
    assert "enough" in result.error.message


async def test_stopped_worker_finishes_what_runs(tmp_path: Path) -> None:
    """SIGTERM: nothing new is taken, the running call ends well, the process ends with 0 and leaves the catalog."""
    async with broker_and_client(tmp_path) as mesh, worker_process(mesh, [ODD], "worker-1") as process:
        call = await mesh.client.start(CallRequest(tool="slow", arguments={"seconds": 2}))
        await anext(call.statuses())
        process.terminate()
        async with asyncio.timeout(15):
            result = await call.result()
            code = await process.wait()
            await mesh.client.catalog.wait_until(lambda view: not view.tools())
    assert (result.outcome, result.message, code) == (Outcome.OK, "at last", 0)


@pytest.mark.parametrize("how", ["stopped", "killed"])
@pytest.mark.requirement("call:broker-restart")
async def test_every_caller_hears_something_when_the_broker_restarts(tmp_path: Path, how: str) -> None:
    """The broker ends (kill -9 too) and comes back during 100 calls: each has one result, and almost all succeed."""
    async with broker_and_client(tmp_path) as mesh, worker_in_process(mesh, [WEATHER], concurrency=8):
        async with asyncio.timeout(110), asyncio.TaskGroup() as group:
            request = {"city": "Oslo"}
            calls = [group.create_task(mesh.client.call("weather", request, timeout_s=90)) for _ in range(100)]
            while sum(call.done() for call in calls) < 20:
                await asyncio.sleep(0.05)
            if how == "killed":
                os.kill(mesh.server.pid, signal.SIGKILL)
                assert (await mesh.server.wait_exited()).signal == signal.SIGKILL
            await mesh.server.restart()
        results = [call.result() for call in calls]
    assert all(result.outcome is Outcome.OK or result.error is not None for result in results)
    assert sum(result.outcome is Outcome.OK for result in results) >= 90


@pytest.mark.requirement("call:dead-letters")
@pytest.mark.requirement("identity:signature")
async def test_recorded_call_is_worthless_for_any_other(tmp_path: Path) -> None:
    """With another body, tool or id the recorded headers are refused, the call never runs, and it is kept as dead."""
    async with broker_and_client(tmp_path) as mesh, worker_in_process(mesh, [ODD]):
        broker = mesh.client.broker
        original, headers = signed_call(mesh, b'{"text": "good"}')
        other_body = encode(msgspec.structs.replace(original, arguments=msgspec.Raw(b'{"text": "evil!"}')))
        other_id = new_invocation_id()
        forgeries = {
            original.id: (other_body, headers),
            other_id: (encode(original), headers | {"Nats-Msg-Id": other_id}),
            new_invocation_id(): (encode(original), headers | {"Tm-Tool": "guarded"}),
            new_invocation_id(): (encode(original), headers | {"Tm-Deadline": str(original.deadline_ms + 1)}),
            new_invocation_id(): (encode(original), headers | {"Tm-Scopes": ""}),
            new_invocation_id(): (
                encode(original),
                {key: value for key, value in headers.items() if key != "Tm-Signature"},
            ),
        }
        subject = broker.subjects.invoke(POOL, Lane.NORMAL, "tester", "ada")
        for message_id, (body, forged) in forgeries.items():
            call = OutgoingInvocation(
                pool=POOL,
                subject=subject,
                invocation=message_id,
                body=body,
                deadline_ms=original.deadline_ms,
                headers=forged,
            )
            await broker.publish_invocation(call)
        letters = await dead_letters(mesh, len(forgeries))
        assert {letter.code for letter in letters} == {ErrorCode.AUTHENTICATION_FAILED}
        assert all("Tm-Token" not in letter.headers for letter in letters)
        ledger = broker.keyvalue(broker.subjects.ledger_bucket())
        assert await ledger.get(broker.subjects.call_key(POOL, original.id)) is None


@pytest.mark.requirement("identity:signature")
async def test_recorded_call_is_worthless_in_another_pool(tmp_path: Path) -> None:
    """Put into another pool's queue as it was recorded, with the same tool served there, it is refused and kept as dead."""
    async with broker_and_client(tmp_path, strangers=[Worker("other", "stranger")]) as mesh:
        async with worker_in_process(mesh, [measure_for("other", tmp_path)], worker_id="stranger", pool="other"):
            broker = mesh.client.broker
            original, headers = signed_call(mesh, b'{"text": "good"}')
            replayed = OutgoingInvocation(
                pool="other",
                subject=broker.subjects.invoke("other", Lane.NORMAL, "tester", "ada"),
                invocation=original.id,
                body=encode(original),
                deadline_ms=original.deadline_ms,
                headers=headers,
            )
            await broker.publish_invocation(replayed)
            (letter,) = await dead_letters(mesh, 1, pool="other")
            assert letter.code is ErrorCode.AUTHENTICATION_FAILED
            ledger = broker.keyvalue(broker.subjects.ledger_bucket())
            assert await ledger.get(broker.subjects.call_key("other", original.id)) is None
            assert (await mesh.client.call("measure", {"text": "good"}, pool="other")).ok


def measure_for(pool: str, folder: Path) -> Path:
    """A toolset that gives the tool `measure` to another pool."""
    copied = folder / f"odd-{pool}"
    shutil.copytree(ODD, copied / "odd")
    (copied / "manifest.yaml").write_text(
        f"version: 1\ntools:\n  measure: {{executable: odd, tool_dir: odd, pool: {pool}}}\n"
    )
    return copied


def signed_call(mesh: WorkerMesh, arguments: bytes) -> tuple[Invocation, dict[str, str]]:
    """A correct call and its headers, as an eavesdropper would have recorded them."""
    token = mesh.issuer.token("ada", ("*",), audience=NAMESPACE, agent="tester")
    invocation = Invocation(
        id=new_invocation_id(),
        tool="measure",
        exposed_name="measure",
        pool=POOL,
        executor="client",
        caller=Caller(user="ada", agent="tester"),
        deadline_ms=int((time.time() + 60) * 1000),
        arguments=msgspec.Raw(arguments),
        required_scopes=("tool:odd:run",),
    )
    fields = CallFields.of(
        invocation=invocation.id,
        pool=POOL,
        tool=invocation.tool,
        deadline_ms=invocation.deadline_ms,
        required_scopes=invocation.required_scopes,
        agent=invocation.caller.agent,
        body=encode(invocation),
        token=token,
    )
    headers = InvocationHeaders(
        invocation=invocation.id,
        tool=invocation.tool,
        deadline_ms=invocation.deadline_ms,
        required_scopes=invocation.required_scopes,
        token=token,
        signature=sign_call(fields, mesh.issuer.executor_key()),
        agent=invocation.caller.agent,
    )
    return invocation, headers.to_headers()


async def dead_letters(mesh: WorkerMesh, count: int, pool: str = POOL) -> list[DeadLetter]:
    """Wait until the pool's dead letter stream holds `count` messages, and read them as the operator would."""
    async with asyncio.timeout(15), open_connection(mesh.server.connection(Provisioner())) as connection:
        stream = connection.subjects.dead_stream(pool)
        while (await api_request(connection, f"STREAM.INFO.{stream}"))["state"]["messages"] < count:
            await asyncio.sleep(0.1)
        found: list[DeadLetter] = []
        sequence = 1
        while len(found) < count:
            with contextlib.suppress(ApiError):
                answer = await api_request(connection, f"STREAM.MSG.GET.{stream}", {"seq": sequence})
                found.append(decode(DeadLetter, base64.b64decode(answer["message"]["data"])))
            sequence += 1
        return found


@pytest.mark.requirement("broker:removed")
async def test_removed_tool_disappears_and_changed_one_is_new(tmp_path: Path) -> None:
    """An edited folder: a removed tool leaves the catalog, a broken one is named as a problem, the rest goes on."""
    folder = tmp_path / "weather"
    shutil.copytree(WEATHER, folder)
    async with broker_and_client(tmp_path) as mesh, worker_in_process(mesh, [folder]):
        before = mesh.client.tools()[POOL]
        manifest = yaml.safe_load((folder / "manifest.yaml").read_text())
        del manifest["tools"]["warnings"]
        manifest["tools"]["ghost"] = {"executable": "nowhere"}
        (folder / "manifest.yaml").write_text(yaml.safe_dump(manifest))
        async with asyncio.timeout(10):
            await mesh.client.catalog.wait_until(
                lambda view: (
                    {tool.entry.tool for tool in view.tools()} == {"weather", "outlook"}
                    and all(tool.entry.version != before["weather"].version for tool in view.tools())
                )
            )
        result = await mesh.client.call("weather", {"city": "Oslo"})
    assert result.outcome is Outcome.OK


async def test_calls_of_a_new_version_are_handed_on_by_workers_that_have_the_old_one(tmp_path: Path) -> None:
    """While a declared tool is rolled out, calls are run by workers of the version that their caller has seen."""
    old = agent_folder(tmp_path / "old", {"say": "echo old"})
    new = agent_folder(tmp_path / "new", {"say": "echo new"})
    async with (
        broker_and_client(tmp_path, workers=("worker-1", "worker-2")) as mesh,
        worker_in_process(mesh, [old], worker_id="worker-1"),
        worker_in_process(mesh, [new], worker_id="worker-2"),
        asyncio.timeout(50),
    ):
        calls = (mesh.client.call("say", {}) for _ in range(20))
        results = await asyncio.gather(*calls)
    assert {(result.outcome, result.worker) for result in results} == {(Outcome.OK, "worker-2")}


@pytest.mark.requirement("broker:catalog")
async def test_later_executor_knows_the_catalog_within_a_second(tmp_path: Path) -> None:
    """Whoever comes later has missed nothing, the time to connect included."""
    async with broker_and_client(tmp_path) as mesh, worker_in_process(mesh, [ODD, WEATHER]):
        expected = {tool.entry.tool for tool in mesh.client.catalog.tools()}
        async with (
            asyncio.timeout(1),
            connect(mesh.server.connection(Executor("client"))) as broker,
            CatalogView.open(broker) as view,
        ):
            assert {tool.entry.tool for tool in view.tools()} == expected
    assert len(expected) == 20
