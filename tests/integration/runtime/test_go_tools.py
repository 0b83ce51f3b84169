"""A program in Go under the real worker: the same contract, with its own ways of failing."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.support.go_tool import go_toolset
from tests.support.worker_mesh import WorkerMesh, broker_and_client, worker_in_process

from toolmesh_broker.ports import Message
from toolmesh_client import Call, CallRequest, Secret
from toolmesh_contracts.envelopes.reply import Outcome, Status
from toolmesh_contracts.envelopes.services import ModelReply, ModelRequest
from toolmesh_contracts.errors import ErrorCode
from toolmesh_contracts.headers import SCHEMA
from toolmesh_contracts.wire import decode, encode

pytestmark = pytest.mark.timeout(360)  # the first build compiles Go's own library


@asynccontextmanager
async def go_mesh(folder: Path) -> AsyncIterator[WorkerMesh]:
    toolset = await asyncio.to_thread(go_toolset, folder / "toolset")
    async with broker_and_client(folder) as mesh, worker_in_process(mesh, [toolset]):
        yield mesh


@pytest.mark.requirement("process:arguments")
async def test_go_tool_gets_values_of_its_strict_types(tmp_path: Path) -> None:
    """Text for numbers and truth values, whole floats and null are converted; what can't be is named, unstarted."""
    statuses: list[Status] = []
    async with go_mesh(tmp_path) as mesh:
        sent = {"name": "Ada", "times": "5", "loud": "true"}
        text = await mesh.client.call("greet", sent, on_status=statuses.append)
        others = await mesh.client.call("greet", {"name": 7, "times": 2.0, "loud": None, "extra": [1]})
        wrong = await mesh.client.call("greet", {"name": "Ada", "times": "five"})
    assert (text.outcome, text.message, text.data) == (Outcome.OK, "HELLO, ADA", {"times": 6, "user": "ada"})
    assert "greeting Ada" in [status.text for status in statuses]
    assert (others.message, others.data) == ("Hello, 7", {"times": 3, "user": "ada"})
    assert others.notes == ("greet has no argument 'extra'; left out. it takes: loud, name, times",)
    assert wrong.error is not None
    assert wrong.error.code is ErrorCode.INVALID_ARGUMENTS
    assert wrong.error.message == 'greet: times: "five" is not of type "integer"'


@pytest.mark.requirement("process:results")
async def test_go_results_have_their_outcome(tmp_path: Path) -> None:
    """Null is a success, one-line errors and panics are failures, and the model sees no path of the builder."""
    async with go_mesh(tmp_path) as mesh:
        nothing = await mesh.client.call("nothing")
        failed = await mesh.client.call("fail")
        panicked = await mesh.client.call("break")
    assert (nothing.outcome, nothing.data) == (Outcome.OK, None)
    for result, message in (
        (failed, "the first line | and the second"),
        (panicked, "panic: assignment to entry in nil map"),
    ):
        assert result.error is not None
        assert (result.error.code, result.error.message) == (ErrorCode.TOOL_ERROR, message)


@pytest.mark.requirement("process:status")
async def test_a_flood_of_statuses_does_not_hold_a_go_tool_up(tmp_path: Path) -> None:
    """Go waits until the pipe has room: the worker reads on, whatever of it the caller is shown."""
    statuses: list[Status] = []
    async with go_mesh(tmp_path) as mesh:
        result = await mesh.client.call("flood", on_status=statuses.append)
    assert (result.outcome, result.message) == (Outcome.OK, "sent")
    assert len(statuses) < 5000


@pytest.mark.requirement("process:outputs")
async def test_go_artifacts_keep_their_type_both_ways(tmp_path: Path) -> None:
    """Files come in by path and by name; an object with `content: null` is the file of its name, with its type."""
    for name in ("one", "two", "three"):
        (tmp_path / f"{name}.txt").write_text(name)
    files = {"doc": tmp_path / "one.txt", "more[0]": tmp_path / "two.txt", "more[1]": tmp_path / "three.txt"}
    async with go_mesh(tmp_path) as mesh:
        shown = mesh.client.catalog.get("default", "quote")
        quoted = await mesh.client.call("quote", {}, artifacts=files)
        missing = await mesh.client.call("quote", {"doc": "gone.txt"})
        (card,) = (await mesh.client.call("card")).artifacts
    assert shown is not None
    assert b'"doc":{"type":"string"}' in bytes(shown.entry.parameters)
    assert b'"more":{"type":"array","items":{"type":"string"}}' in bytes(shown.entry.parameters)
    assert (quoted.message, quoted.data) == ("one+two+three", {"name": "one.txt+two.txt+three.txt"})
    assert missing.error is not None
    assert missing.error.code is ErrorCode.ARTIFACT_ERROR
    assert missing.error.message == "quote: artifact 'gone.txt' of argument 'doc' did not come with the call"
    assert (card.filename, card.mime_type, card.description) == ("card.txt", "text/x-greeting", "a card")


async def waiting(call: Call) -> AsyncIterator[Status]:
    """Statuses of a call whose tool has come so far that it heeds SIGTERM."""
    statuses = call.statuses()
    async for status in statuses:
        if status.text == "waiting":
            return statuses
    raise AssertionError("the tool never waited")


@pytest.mark.requirement("process:stopped")
async def test_go_tool_at_its_time_limit_puts_things_away_first(tmp_path: Path) -> None:
    """It gets SIGTERM and a moment, and what it leaves then is kept; one that does not listen is killed."""
    statuses: list[Status] = []
    async with go_mesh(tmp_path) as mesh:
        late = await mesh.client.call("wait", on_status=statuses.append)
        deaf = await mesh.client.call("deaf")
    for result in (late, deaf):
        assert result.error is not None
        assert result.error.code is ErrorCode.SANDBOX_TIMEOUT
    assert statuses[-1].text == "put away"
    assert "3 s" in (late.error.message if late.error else "")
    assert [artifact.filename for artifact in late.artifacts] == ["stopped.txt"]


@pytest.mark.requirement("process:stopped")
async def test_cancelled_and_drained_go_tools_put_things_away_first(tmp_path: Path) -> None:
    """A cancel, and a worker that is stopped and can't wait, send SIGTERM before they kill."""
    toolset = await asyncio.to_thread(go_toolset, tmp_path / "toolset")
    async with broker_and_client(tmp_path) as mesh:
        async with worker_in_process(mesh, [toolset], drain_seconds=0.1):
            call = await mesh.client.start(CallRequest(tool="stay"))
            statuses = await waiting(call)
            await call.cancel("enough")
            cancelled = await call.result()
            after_cancel = [status.text async for status in statuses]
            call = await mesh.client.start(CallRequest(tool="stay"))
            statuses = await waiting(call)
        drained = await call.result()
        after_drain = [status.text async for status in statuses]
    assert [result.error.code for result in (cancelled, drained) if result.error] == [
        ErrorCode.CANCELLED,
        ErrorCode.WORKER_LOST,
    ]
    assert after_cancel[-1:] == ["put away"]
    assert after_drain[-1:] == ["put away"]


@pytest.mark.requirement("process:credential")
async def test_static_credential_reaches_the_tool_as_header(tmp_path: Path) -> None:
    """Basic and bearer credentials of the reserved key `auth` arrive ready to use, and nobody else sees them."""
    async with go_mesh(tmp_path) as mesh:
        basic = await mesh.client.call(
            "headers",
            tool_config={"auth": {"type": "basic", "username": "ada"}},
            secrets=[Secret(("auth", "password"), "zebra-crossing")],
        )
        bearer = await mesh.client.call(
            "headers", tool_config={"auth": {"type": "bearer"}}, secrets=[Secret(("auth", "token"), "zebra-token")]
        )
        none = await mesh.client.call("headers")
    assert isinstance(basic.data, dict)
    assert isinstance(bearer.data, dict)
    assert (basic.data["length"], basic.data["has_token"]) == (len("Basic YWRhOnplYnJhLWNyb3NzaW5n"), False)
    assert (bearer.data["length"], bearer.data["has_token"]) == (len("Bearer zebra-token"), True)
    assert basic.data["headers"]["Authorization"].startswith("Basic ")
    assert "YWRhOnplYnJhLWNyb3NzaW5n" not in repr(basic)
    assert "zebra" not in repr(basic) + repr(bearer)
    assert none.data == {"headers": {}, "length": 0, "has_token": False}


@pytest.mark.requirement("process:model")
async def test_tool_asks_the_model_over_the_broker(tmp_path: Path) -> None:
    """The question arrives with its call; answer, refusal, silence and absence each end it, and in time."""
    asked: list[ModelRequest] = []

    async def answer(message: Message) -> None:
        request = decode(ModelRequest, message.body, message.headers.get(SCHEMA))
        asked.append(request)
        if request.user_prompt == "silence":
            return
        refused = request.user_prompt == "refuse"
        reply = ModelReply(code=ErrorCode.RESOURCE_EXHAUSTED, message="quota") if refused else ModelReply(text="42")
        await message.respond(encode(reply))

    async with go_mesh(tmp_path) as mesh:
        absent = await mesh.client.call("ask", {"question": "anyone?"})
        broker = mesh.client.broker
        async with broker.subscribe(broker.subjects.model("default"), answer):
            answered = await mesh.client.call("ask", {"question": "why?"})
            refused = await mesh.client.call("ask", {"question": "refuse"})
            silent = await mesh.client.call("ask", {"question": "silence"}, timeout_s=4)
    assert (answered.outcome, answered.message) == (Outcome.OK, "42")
    assert [request.user_prompt for request in asked] == ["why?", "refuse", "silence"]
    assert (asked[0].invocation, asked[0].attempt, asked[0].worker) == (answered.invocation, 1, "worker-1")
    assert (asked[0].system_prompt, asked[0].temperature) == ("be short", 0.7)
    messages = [result.error.message if result.error else "" for result in (absent, refused, silent)]
    assert messages[:2] == [
        "IPC error -32000: no model can be asked: no executor answers for this pool now",
        "IPC error -32000: the model refused: quota (RESOURCE_EXHAUSTED)",
    ]
    assert messages[2].startswith("IPC error -32000: the model did not answer within")
