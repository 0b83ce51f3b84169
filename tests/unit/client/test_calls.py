"""Calls from end to end over the in-memory broker: results, statuses, errors, large contents, files."""

import asyncio
import hashlib
import json
import os
import time
from pathlib import Path

import msgspec
import pytest
from tests.support.scripted_worker import Job, echo, scripted_worker
from tests.support.tool_client import NAMESPACE, client_settings, memory_client, until, worker_broker

from toolmesh_broker.errors import PayloadMissingError
from toolmesh_client import CallRequest, Client, Secret, client_over
from toolmesh_client.errors import (
    CallNotQueuedError,
    CallNotSignedInError,
    ClientClosedError,
    InvalidCallError,
    ToolNotFoundError,
)
from toolmesh_client.token_claims import read_claims
from toolmesh_contracts import headers
from toolmesh_contracts.envelopes.reply import Outcome, Result, Status
from toolmesh_contracts.envelopes.values import ArtifactRef
from toolmesh_contracts.errors import ErrorCode
from toolmesh_contracts.invocation_headers import InvocationHeaders
from toolmesh_contracts.sealed_config import sealing_context
from toolmesh_contracts.wire import encode
from toolmesh_identity.development import DevelopmentIssuer
from toolmesh_identity.sealing import open_sealed
from toolmesh_identity.signatures import CallFields, verify_call

pytestmark = pytest.mark.timeout(30)


async def served(client: Client, *tools: str) -> None:
    """Waits until the client's catalog has the tools."""
    await until(lambda: set(tools) <= {name for pool in client.tools().values() for name in pool}, f"tools {tools}")


async def test_a_call_returns_the_tools_result(tmp_path: Path) -> None:
    """Arguments go out, the result comes back, the worker hears that it was accepted."""
    async with memory_client(tmp_path) as (hub, client), scripted_worker(worker_broker(hub), {"echo": echo}) as worker:
        await served(client, "echo")
        result = await client.call("echo", {"city": "Zürich"})
        assert result.ok
        assert result.data == {"city": "Zürich"}
        assert (result.tool, result.pool, result.attempt, result.worker) == ("echo", "default", 1, "worker-1")
        await until(lambda: worker.confirmed == [result.invocation], "the confirmation")
        assert worker.stored == []
        await until(lambda: len(hub.queue(client.broker.subjects.invoke_stream("default"))) == 0, "the ack")


async def test_statuses_arrive_in_order_before_the_result(tmp_path: Path) -> None:
    """A person sees progress; each status is given once."""

    async def chatty(job: Job) -> Result:
        for text in ("one", "two", "three"):
            await job.status(text)
        return job.ok()

    async with memory_client(tmp_path) as (hub, client), scripted_worker(worker_broker(hub), {"chatty": chatty}):
        await served(client, "chatty")
        seen: list[Status] = []
        await client.call("chatty", on_status=seen.append)
        assert [status.text for status in seen] == ["", "one", "two", "three"]
        assert [status.seq for status in seen] == [1, 2, 3, 4]


async def test_statuses_can_be_iterated(tmp_path: Path) -> None:
    """The iteration ends with the call."""

    async def chatty(job: Job) -> Result:
        await job.status("working")
        return job.ok("done")

    async with memory_client(tmp_path) as (hub, client), scripted_worker(worker_broker(hub), {"chatty": chatty}):
        await served(client, "chatty")
        call = await client.start(CallRequest(tool="chatty"))
        assert [status.text async for status in call.statuses()] == ["", "working"]
        assert (await call.result()).data == "done"
        assert (await call.result()).data == "done"


async def test_the_message_is_signed_and_names_its_caller(tmp_path: Path) -> None:
    """What the worker verifies holds: signature over headers and body, token of the caller, sealed secrets."""
    jobs: list[Job] = []

    async def remember(job: Job) -> Result:
        jobs.append(job)
        return job.ok()

    async with memory_client(tmp_path) as (hub, client), scripted_worker(worker_broker(hub), {"remember": remember}):
        await served(client, "remember")
        await client.run(
            CallRequest(
                tool="remember",
                exposed_name="alias",
                arguments=b'{"n":1.50}',
                tool_config={"units": "celsius"},
                secrets=[Secret(("password",), "s3cret")],
                required_scopes=("tool:weather:read", "tool:weather:write"),
                user_profile={"workEmail": "ada@example.org"},
                agent="weather_agent",
            )
        )
    job = jobs[0]
    call = job.invocation
    issuer = DevelopmentIssuer(tmp_path / "keys")
    parsed = InvocationHeaders.parse(job.headers)
    fields = CallFields.of(
        invocation=call.id,
        pool="default",
        tool="remember",
        deadline_ms=call.deadline_ms,
        required_scopes=("tool:weather:read", "tool:weather:write"),
        agent=call.caller.agent,
        body=encode(call),
        token=parsed.token,
    )
    verify_call(parsed.signature, fields, issuer.executor_public_keys())
    assert (parsed.tool, parsed.deadline_ms, parsed.required_scopes) == (
        "remember",
        call.deadline_ms,
        call.required_scopes,
    )
    assert len(parsed.traceparent) == 55
    assert int(job.headers[headers.MESSAGE_TTL]) >= 60
    assert (call.caller.user, call.caller.agent, call.exposed_name) == ("ada", "weather_agent", "alias")
    assert bytes(call.arguments) == b'{"n":1.50}'  # type: ignore[arg-type] # it came inline
    assert json.loads(bytes(call.tool_config)) == {"units": "celsius"}  # type: ignore[arg-type] # given above
    assert b"s3cret" not in encode(call)
    assert call.sealed_config is not None
    box = open_sealed(
        call.sealed_config, issuer.sealing_keys("default"), sealing_context(NAMESPACE, "default", call.id)
    )
    assert json.loads(box) == [[["password"], "s3cret"]]


async def test_an_error_of_the_tool_is_a_result(tmp_path: Path) -> None:
    """Tool errors are content, never exceptions."""

    async def failing(job: Job) -> Result:
        return job.error(ErrorCode.TOOL_ERROR, "no such city")

    async with memory_client(tmp_path) as (hub, client), scripted_worker(worker_broker(hub), {"failing": failing}):
        await served(client, "failing")
        result = await client.call("failing")
        assert not result.ok
        assert result.error is not None
        assert result.error.code is ErrorCode.TOOL_ERROR
        assert result.text() == "no such city"


async def test_large_arguments_travel_by_claim_check_and_are_removed(tmp_path: Path) -> None:
    """5 MB of arguments arrive whole; after the call the store is empty."""
    seen: list[bytes] = []

    async with memory_client(tmp_path) as (hub, client):
        broker = worker_broker(hub)

        async def measure(job: Job) -> Result:
            ref = job.invocation.arguments_payload
            assert ref is not None
            assert job.invocation.arguments is msgspec.UNSET
            seen.append(b"".join([chunk async for chunk in broker.payloads("default").open(ref)]))
            return job.ok(len(seen[0]))

        async with scripted_worker(broker, {"measure": measure}):
            await served(client, "measure")
            arguments = json.dumps({"text": "x" * 5_000_000}).encode()
            result = await client.call("measure", arguments)
            assert result.data == len(arguments)
            assert seen == [arguments]
            await until(lambda: not hub.payloads, "an empty store")


async def test_a_large_result_is_fetched_and_removed(tmp_path: Path) -> None:
    """30 MB come by reference; the stored document is deleted after it was read."""
    async with memory_client(tmp_path) as (hub, client):
        broker = worker_broker(hub)

        async def big(job: Job) -> Result:
            document = msgspec.json.encode({"message": "big", "data": {"text": "y" * 30_000_000}})
            ref = await broker.payloads("default").put(f"{job.invocation.id}.result", document, 60.0)
            return job.result(Outcome.OK, payload=ref)

        async with scripted_worker(broker, {"big": big}):
            await served(client, "big")
            result = await client.call("big")
            assert result.message == "big"
            assert len(result.data["text"]) == 30_000_000
            await until(lambda: not hub.payloads, "an empty store")


@pytest.mark.parametrize("damage", ["missing", "corrupt", "no_document", "too_large", "other_bucket"])
async def test_a_result_document_that_cant_be_read_is_an_error_result(tmp_path: Path, damage: str) -> None:
    """The tool has run and its answer is lost: the caller learns both, and nothing hangs."""
    expected = {
        "missing": ErrorCode.PAYLOAD_MISSING,
        "corrupt": ErrorCode.PAYLOAD_CORRUPT,
        "no_document": ErrorCode.PAYLOAD_CORRUPT,
        "too_large": ErrorCode.RESULT_TOO_LARGE,
        "other_bucket": ErrorCode.PAYLOAD_MISSING,
    }
    async with memory_client(tmp_path, max_result_bytes=1000) as (hub, client):
        broker = worker_broker(hub)

        async def damaged(job: Job) -> Result:
            content = {"no_document": b"\xff\xfe{", "too_large": b'{"data":"' + b"x" * 2000 + b'"}'}.get(damage, b"{}")
            store = broker.payloads("default")
            ref = await store.put(f"{job.invocation.id}.result", content, 60.0)
            if damage == "missing":
                await store.delete(ref)
            elif damage == "corrupt":
                ref = msgspec.structs.replace(ref, sha256=hashlib.sha256(b"other").hexdigest())
            elif damage == "other_bucket":
                ref = msgspec.structs.replace(ref, bucket=client.broker.subjects.payload_bucket("other"))
            return job.result(Outcome.OK, payload=ref)

        async with scripted_worker(broker, {"damaged": damaged}):
            await served(client, "damaged")
            result = await client.call("damaged")
            assert result.error is not None
            assert result.error.code is expected[damage]
            assert "outcome ok" in result.message


async def test_an_empty_result_is_one(tmp_path: Path) -> None:
    """No message, no data: ok, with an empty text."""

    async def silent(job: Job) -> Result:
        return job.ok()

    async with memory_client(tmp_path) as (hub, client), scripted_worker(worker_broker(hub), {"silent": silent}):
        await served(client, "silent")
        result = await client.call("silent")
        assert (result.ok, result.data, result.raw_data, result.text()) == (True, None, None, "")


async def test_files_go_out_and_come_back(tmp_path: Path) -> None:
    """A local file is stored for the pool; what the tool makes can be read and saved; the input is removed."""
    source = tmp_path / "report.txt"
    source.write_bytes(b"hello world" * 100_000)
    async with memory_client(tmp_path) as (hub, client):
        broker = worker_broker(hub)

        async def shout(job: Job) -> Result:
            given = job.invocation.artifacts["report"]
            content = b"".join([chunk async for chunk in broker.payloads("default").open(given.payload)]).upper()
            made = await broker.payloads("default").put(f"{job.invocation.id}.out", content, 60.0)
            ref = ArtifactRef(
                filename="loud.txt", mime_type="text/plain", size=made.size, sha256=made.sha256, payload=made
            )
            return job.ok(given.filename, artifacts=(ref,))

        async with scripted_worker(broker, {"shout": shout}):
            await served(client, "shout")
            result = await client.call("shout", artifacts={"report": source})
            assert result.data == "report.txt"
            await until(lambda: len(hub.payloads) == 1, "the input's removal")
            target = tmp_path / "loud.txt"
            await client.save_artifact(result.artifacts[0], target)
            assert target.read_bytes() == b"HELLO WORLD" * 100_000
            assert "artifact loud.txt (text/plain, 1100000 bytes)" in result.text()

            again = await client.call("shout", artifacts={"report": result.artifacts[0]})
            assert again.data == "loud.txt"


async def test_a_file_that_is_gone_leaves_no_half_copy(tmp_path: Path) -> None:
    """A saved file is whole or not there."""
    async with memory_client(tmp_path) as (hub, client):
        broker = worker_broker(hub)

        async def make(job: Job) -> Result:
            made = await broker.payloads("default").put(f"{job.invocation.id}.out", b"x", 60.0)
            await broker.payloads("default").delete(made)
            ref = ArtifactRef(filename="x", mime_type="text/plain", size=1, sha256=made.sha256, payload=made)
            return job.ok(artifacts=(ref,))

        async with scripted_worker(broker, {"make": make}):
            await served(client, "make")
            result = await client.call("make")
            with pytest.raises(PayloadMissingError):
                await client.save_artifact(result.artifacts[0], tmp_path / "x")
            assert os.listdir(tmp_path) == ["keys"]  # noqa: PTH208 - a short look at a small folder
            foreign = msgspec.structs.replace(
                result.artifacts[0], payload=msgspec.structs.replace(result.artifacts[0].payload, bucket="elsewhere")
            )
            with pytest.raises(InvalidCallError, match="no pool that this client has called"):
                client.open_artifact(foreign)
            with pytest.raises(InvalidCallError, match="can't read"):
                await client.call("make", artifacts={"f": foreign})
            with pytest.raises(InvalidCallError, match="can't be read"):
                await client.call("make", artifacts={"f": tmp_path / "missing"})


async def test_an_unknown_tool_is_refused_at_once(tmp_path: Path) -> None:
    """Nothing is published for a tool that nobody serves; a tool that leaves the catalog is unknown again."""
    async with memory_client(tmp_path) as (hub, client), scripted_worker(worker_broker(hub), {"echo": echo}):
        await served(client, "echo")
        with pytest.raises(ToolNotFoundError, match="did you mean 'echo'"):
            await client.call("ecco")
        catalog = client.broker.keyvalue(client.broker.subjects.catalog_bucket())
        await catalog.delete(client.broker.subjects.catalog_key("default", "echo", "worker-1"))
        await until(lambda: client.tools() == {}, "an empty catalog")
        with pytest.raises(ToolNotFoundError):
            await client.call("echo")


@pytest.mark.requirement("broker:queue-limit")
async def test_a_full_queue_says_when_to_try_again(tmp_path: Path) -> None:
    """RESOURCE_EXHAUSTED with a delay; the call is not followed, and its payloads are removed."""
    async with memory_client(tmp_path) as (hub, client), scripted_worker(worker_broker(hub), {"echo": echo}, slots=0):
        await served(client, "echo")
        hub.queue(client.broker.subjects.invoke_stream("default"))._max_per_subject = 1
        first = await client.start(CallRequest(tool="echo"))
        with pytest.raises(CallNotQueuedError) as caught:
            await client.call("echo", {"x": "y" * 300_000})
        assert caught.value.code is ErrorCode.RESOURCE_EXHAUSTED
        assert caught.value.retry_after_s > 0
        await until(lambda: client.open_calls == 1, "the refused call's end")
        assert not hub.payloads
        await first.cancel()


async def test_the_deadline_is_never_past_the_tokens_expiry(tmp_path: Path) -> None:
    """A call can't outlive the proof of who made it."""
    issuer = DevelopmentIssuer.create_or_load(tmp_path / "keys")
    deadlines: list[int] = []

    async def remember(job: Job) -> Result:
        deadlines.append(job.invocation.deadline_ms)
        return job.ok()

    async with memory_client(tmp_path) as (hub, client), scripted_worker(worker_broker(hub), {"remember": remember}):
        await served(client, "remember")
        token = issuer.token("ada", (), audience=NAMESPACE, ttl_s=20)
        await client.run(CallRequest(tool="remember", token=token, timeout_s=1000))
        await client.run(CallRequest(tool="remember", timeout_s=7))
        await client.run(CallRequest(tool="remember"))
        first, second, third = deadlines
        assert second < first < third
        expired = issuer.token("ada", (), audience=NAMESPACE, ttl_s=1)
        await until_expired(expired)
        with pytest.raises(CallNotSignedInError, match="has expired"):
            await client.run(CallRequest(tool="remember", token=expired))


async def until_expired(token: str) -> None:
    """Waits until a token of at most a second or two is over."""
    claims = read_claims(token)
    await until(lambda: time.time() > claims.expires_at, "the token's expiry")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"timeout_s": 0}, "leaves no time"),
        ({"timeout_s": float("nan")}, "leaves no time"),
        ({"tool_config": {"x": float("nan")}}, "can't be written as JSON"),
        ({"user_profile": {"x": object()}}, "can't be written as JSON"),
        ({"required_scopes": ("a b",)}, "is no scope"),
        ({"required_scopes": ("",)}, "is no scope"),
    ],
)
async def test_a_call_that_cant_be_written_is_refused(tmp_path: Path, change: dict[str, object], message: str) -> None:
    """One clear error that names the part, and nothing is published."""
    async with memory_client(tmp_path) as (hub, client), scripted_worker(worker_broker(hub), {"echo": echo}) as worker:
        await served(client, "echo")
        with pytest.raises(InvalidCallError, match=message):
            await client.run(CallRequest(tool="echo", **change))  # type: ignore[arg-type] # wrong on purpose
        assert client.open_calls == 0
        assert worker.taken == []


async def test_many_calls_at_once_get_their_own_results(tmp_path: Path) -> None:
    """Replies find their calls, and nothing is left behind."""
    async with memory_client(tmp_path) as (hub, client):
        workers = (
            scripted_worker(worker_broker(hub), {"echo": echo}, name="worker-1"),
            scripted_worker(worker_broker(hub), {"echo": echo}, name="worker-2"),
        )
        async with workers[0] as first, workers[1] as second:
            await served(client, "echo")
            results = await asyncio.gather(*(client.call("echo", {"n": n}) for n in range(200)))
            assert [result.data["n"] for result in results] == list(range(200))
            assert len(first.taken) + len(second.taken) == 200
            assert client.open_calls == 0


async def test_a_closed_client_refuses_calls(tmp_path: Path) -> None:
    """A client that outlives its block says so instead of hanging."""
    async with memory_client(tmp_path) as (_, client):
        pass
    with pytest.raises(ClientClosedError):
        await client.call("echo")


async def test_two_clients_share_a_hub_without_hearing_each_other(tmp_path: Path) -> None:
    """Replies go to the executor that made the call."""
    async with memory_client(tmp_path) as (hub, one), scripted_worker(worker_broker(hub), {"echo": echo}) as worker:
        settings = client_settings(tmp_path, executor="executor-2")
        async with client_over(worker_broker(hub, "second"), settings) as two:
            await served(one, "echo")
            await served(two, "echo")
            results = await asyncio.gather(one.call("echo", {"n": 1}), two.call("echo", {"n": 2}))
            assert [result.data["n"] for result in results] == [1, 2]
            await until(lambda: len(worker.confirmed) == 2, "both confirmations")
