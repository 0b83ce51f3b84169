"""Tools of our SDK under a real worker: what callers get of each return value, failure, file, status and question."""

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest
from tests.support.published_names import PUBLISHED_MODULES, PUBLISHED_NAMES
from tests.support.worker_mesh import POOL, broker_and_client, worker_in_process

from toolmesh_broker.ports import Message
from toolmesh_client import CallRequest
from toolmesh_client.errors import InvalidArgumentsError
from toolmesh_contracts.envelopes.reply import Outcome, Status
from toolmesh_contracts.envelopes.services import ModelReply, ModelRequest
from toolmesh_contracts.errors import ErrorCode
from toolmesh_contracts.headers import SCHEMA
from toolmesh_contracts.wire import decode, encode

OWN = Path(__file__).parents[2] / "toolsets" / "own"

SUCCESSES: dict[str, tuple[Outcome, str, Any]] = {
    'ToolResult.ok("m")': (Outcome.OK, "m", None),
    'ToolResult.ok("m", data={"a": 1})': (Outcome.OK, "m", {"a": 1}),
    'ToolResult.ok("m", data=[1])': (Outcome.OK, "m", [1]),
    'ToolResult.ok("m").model_dump()': (Outcome.OK, "m", None),
    'ToolResult.partial("half", data={"a": 1})': (Outcome.PARTIAL, "half", {"a": 1}),
    'ToolResult.pending("sure?", data={"hil_request_id": "7"})': (Outcome.PENDING, "sure?", {"hil_request_id": "7"}),
    "ToolResult.ok(None)": (Outcome.OK, "", None),
    "ToolResult.ok(0)": (Outcome.OK, "", 0),
    'ToolResult.ok({"k": [1]})': (Outcome.OK, "", {"k": [1]}),
    "None": (Outcome.OK, "", None),
    "'plain'": (Outcome.OK, "plain", None),
    "42": (Outcome.OK, "42", None),
    "True": (Outcome.OK, "True", None),
    "[1, 'two']": (Outcome.OK, '[1, "two"]', None),
    "(1, 2)": (Outcome.OK, "[1, 2]", None),
    "b'ab'": (Outcome.OK, "ab", None),
    "{'a': {'b': None}}": (Outcome.OK, "", {"a": {"b": None}}),
    "later()": (Outcome.OK, "later", None),
    "{'when': datetime.date(2026, 1, 2), 'price': decimal.Decimal('1.50'), 'id': uuid.UUID(int=1)}": (
        Outcome.OK,
        "",
        {"when": "2026-01-02", "price": "1.50", "id": "00000000-0000-0000-0000-000000000001"},
    ),
    "{'set': {1}, 'path': pathlib.Path('/x'), 'raw': b'a'}": (Outcome.OK, "", {"set": [1], "path": "/x", "raw": "a"}),
    "{'a': nan(), 'b': 1}": (Outcome.OK, "", {"a": None, "b": 1}),
    "'\\ud800'": (Outcome.OK, "\ufffd", None),
}

FAILURES: dict[str, tuple[str, str, bool]] = {
    'ToolResult.error("bad", code="E1", data={"a": 1})': ("E1", "bad", False),
    'ToolResult(status="weird")': ("", "the tool returned the unknown status 'weird'", False),
    "stop(ValueError('no such city'))": ("ValueError", "ValueError: no such city", False),
    "stop(ToolError('try later', retryable=True))": ("ToolError", "try later", True),
    "stop(TimeoutError('slow'))": ("TimeoutError", "TimeoutError: slow", True),
    "stop(BaseException('base'))": ("BaseException", "BaseException: base", False),
    "stop(asyncio.CancelledError())": ("CancelledError", "CancelledError", False),
    "(lambda f: f(f))(lambda f: f(f))": ("RecursionError", "RecursionError", False),
    "sys.exit(0)": ("SystemExit", "the tool ended itself by sys.exit(0)", False),
    "open('/opt/toolmesh/toolset/secret-plan.txt')": ("FileNotFoundError", "secret-plan.txt", False),
    "{'a': [1, object()]}": ("ResultNotSerialisableError", "result.a[1] is a object", False),
    "{(1, 2): 3}": ("ResultNotSerialisableError", "the key (1, 2)", False),
    "(lambda d: d.update(me=d) or d)({})": ("ResultNotSerialisableError", "result.me contains itself", False),
    "(n for n in [1])": ("ResultNotSerialisableError", "result is a generator", False),
}


@pytest.mark.parametrize("tool", ["give", "give_later"])
@pytest.mark.requirement("process:results")
async def test_every_return_value_and_failure_has_its_outcome(tmp_path: Path, tool: str) -> None:
    """Sync and async: no failure passes for a success, its class and whether to retry are told, and no work is lost."""
    async with broker_and_client(tmp_path) as mesh, worker_in_process(mesh, [OWN]):
        kinds = [*SUCCESSES, *FAILURES, "ToolResult.auth_required()"]
        results = await asyncio.gather(*(mesh.client.call(tool, {"expression": kind}) for kind in kinds))
    told = dict(zip(kinds, results, strict=True))
    for kind, expected in SUCCESSES.items():
        assert (kind, told[kind].outcome, told[kind].message, told[kind].data) == (kind, *expected)
        silent = expected == (Outcome.OK, "", None)
        assert (kind, "the tool returned nothing" in told[kind].notes) == (kind, silent)
    for kind, (type_, message, retryable) in FAILURES.items():
        error = told[kind].error
        assert error is not None, kind
        assert (kind, error.code, error.type, error.retryable) == (kind, ErrorCode.TOOL_ERROR, type_, retryable)
        assert message in error.message
        assert "/opt/toolmesh" not in error.message
        assert "Traceback" not in error.message
    assert told['ToolResult.error("bad", code="E1", data={"a": 1})'].data == {"a": 1}
    assert told["{'a': nan(), 'b': 1}"].notes == (
        "result.a was nan; it is sent as null, because JSON has no such number",
    )
    assert told["ToolResult.auth_required()"].outcome is Outcome.AUTH_REQUIRED


async def test_the_tool_is_told_who_calls(tmp_path: Path) -> None:
    """User, session, agent and task are the call's; the arguments file is plain, private, and makes nothing."""
    request = CallRequest(tool="who", session="s-1", task="t-1", user_profile={"id": "ada"})
    async with broker_and_client(tmp_path) as mesh, worker_in_process(mesh, [OWN]):
        result = await mesh.client.run(request)
        extra = await mesh.client.call("give", {"expression": "1", "other": 1})
    assert isinstance(result.data, dict), result
    assert result.data["told"] == ["ada", "s-1", "tester", "t-1", "ada"]
    assert (result.data["volumes"], result.data["mark"], result.data["nulls"]) == (0, False, [])
    assert not {"module", "function", "class_name", "init_mode"} & set(result.data["names"])
    assert (result.data["mode"], result.data["made"]) == ("0o600", [])
    assert extra.notes == ("give has no argument 'other'; left out. it takes: expression",)


async def test_files_that_came_are_read_in_every_way_and_no_others(tmp_path: Path) -> None:
    """Two files of one name have each its own bytes; no path of the host is told; what is missing names what is there."""
    for folder, name in (("a", "same.txt"), ("b", "same.txt"), ("c", "more.txt")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_text(f"from {folder}")
    paths = {"one": tmp_path / "a/same.txt", "two": tmp_path / "b/same.txt", "more[0]": tmp_path / "c/more.txt"}
    async with broker_and_client(tmp_path) as mesh, worker_in_process(mesh, [OWN]):
        result = await mesh.client.call("files", artifacts=paths)
        missing = await mesh.client.call("files", {"one": "gone.txt", "two": "gone.txt", "more": []})
        with pytest.raises(InvalidArgumentsError, match="requires one, two, more"):
            await mesh.client.call("files")
    assert isinstance(result.data, dict), result
    assert result.data["texts"] == ["from a", "from b", "from c"]
    assert result.data["read"] == "from c"
    assert result.data["listed"] == ["more.txt", "same.txt"]
    assert "more.txt" in result.data["gone"]
    assert "/" not in repr(result.data["metadata"]).replace("text/plain", "")
    assert missing.error is not None
    assert missing.error.code is ErrorCode.ARTIFACT_ERROR


async def test_stored_files_keep_what_the_tool_says_of_them(tmp_path: Path) -> None:
    """Folders, types, texts and previews are kept, equal names numbered, one bad object costs only itself."""
    async with broker_and_client(tmp_path) as mesh, worker_in_process(mesh, [OWN]):
        result = await mesh.client.call("keep")
    files = {artifact.filename: artifact for artifact in result.artifacts}
    assert result.outcome is Outcome.PARTIAL, result
    assert set(files) == {
        "deep/chart.dat", "same.txt", "same-2.txt", "preview.csv", "long.txt", "raw.bin", "odd.txt"
    }  # fmt: skip
    chart = files["deep/chart.dat"]
    assert (chart.mime_type, chart.description) == ("image/x-chart", "a chart")
    assert {key: bytes(value) for key, value in (chart.metadata or {}).items()} == {"w": b"3"}
    assert (files["same.txt"].mime_type, files["same-2.txt"].mime_type) == ("text/x-one", "text/x-two")
    assert files["preview.csv"].description == "a table"
    assert {one.name: one.content for one in result.inline_outputs} == {"short.txt": "short", "inline.txt": "here"}
    told = result.text()
    assert "a table" in told
    assert "deep/chart.dat" in told
    assert any("../up.txt" in note for note in result.notes)
    assert any("none.txt" in note for note in result.notes)


@pytest.mark.requirement("process:status")
async def test_statuses_of_every_kind_are_taken_and_the_last_one_arrives(tmp_path: Path) -> None:
    """What is no text becomes some, a long line and a flood are taken whole; the caller's view of them is merged."""
    statuses: list[Status] = []
    async with broker_and_client(tmp_path) as mesh, worker_in_process(mesh, [OWN]):
        result = await mesh.client.call("tell", on_status=statuses.append)
    assert result.data == {"taken": True}
    assert statuses[-1].text == "the end"
    assert all(status.text for status in statuses if status.state == "progress")


async def test_a_torn_status_costs_only_itself(tmp_path: Path) -> None:
    """A tool that writes into the pipe by itself: rubbish is passed over, and the whole line after it arrives."""
    torn = r"""open('status.pipe', 'w').write('{"status": "torn\n[1]\n{"status": "whole"}\n')"""
    statuses: list[Status] = []
    async with broker_and_client(tmp_path) as mesh, worker_in_process(mesh, [OWN]):
        result = await mesh.client.call("leave", {"statement": torn}, on_status=statuses.append)
    assert result.message == "done", result
    assert [status.text for status in statuses if status.text] == ["whole"]


async def test_a_tool_asks_the_model_without_blocking_its_loop(tmp_path: Path) -> None:
    """The question is numbered with its call, the temperature that nobody named is 0.7, a large answer is whole."""
    asked: list[ModelRequest] = []

    async def answer(message: Message) -> None:
        asked.append(decode(ModelRequest, message.body, message.headers.get(SCHEMA)))
        await asyncio.sleep(0.1)
        await message.respond(encode(ModelReply(text="x" * 500_000 + "end")))

    async with broker_and_client(tmp_path) as mesh, worker_in_process(mesh, [OWN]):
        broker = mesh.client.broker
        async with broker.subscribe(broker.subjects.model(POOL), answer):
            result = await mesh.client.call("ask", {"question": "é" * 50_000})
    assert isinstance(result.data, dict), result.error
    assert (result.data["length"], result.data["answer"][-3:], result.data["went_on"]) == (500_003, "end", True)
    assert (len(asked[0].user_prompt), asked[0].temperature) == (50_000, 0.7)
    assert asked[0].invocation == result.invocation


async def test_every_line_to_the_model_has_one_answer(tmp_path: Path) -> None:
    """Rubbish and unknown methods are errors with an object, and the connection stays usable."""
    lines = [
        "{",
        '{"id": "1", "method": "llm/other"}',
        '{"id": "2", "method": "llm/call", "params": {"user_prompt": "x"}}',
    ]
    async with broker_and_client(tmp_path) as mesh, worker_in_process(mesh, [OWN]):
        result = await mesh.client.call("speak", {"lines": lines})
    assert isinstance(result.data, dict), result.error
    codes = [(answer.get("id"), answer["error"]["code"]) for answer in result.data["answers"]]
    assert codes == [(None, -32700), ("1", -32601), ("2", -32000)]


@pytest.mark.requirement("process:stopped")
async def test_a_cancelled_tool_puts_things_away_first(tmp_path: Path) -> None:
    """SIGTERM is an exception in the tool: its `finally` runs, and what it says and stores then is kept."""
    async with broker_and_client(tmp_path) as mesh, worker_in_process(mesh, [OWN]):
        call = await mesh.client.start(CallRequest(tool="stay"))
        statuses = call.statuses()
        async for status in statuses:
            if status.text == "waiting":
                break
        await call.cancel("enough")
        result = await call.result()
        after = [status.text async for status in statuses]
    assert result.error is not None
    assert result.error.code is ErrorCode.CANCELLED
    assert after[-1:] == ["put away"]


async def test_what_a_tool_logs_is_in_the_operators_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """With the call's id, louder when it failed, and not in what the caller reads."""
    with caplog.at_level(logging.DEBUG):
        async with broker_and_client(tmp_path) as mesh, worker_in_process(mesh, [OWN]):
            results = [await mesh.client.call("log_something", {"fail": fail}) for fail in (True, False)]
    said = [record for record in caplog.records if "process said" in record.getMessage()]
    assert [record.levelname for record in said] == ["INFO", "DEBUG"]
    for record, result in zip(said, results, strict=True):
        assert "a line of the tool's own log" in repr(vars(record))
        assert result.invocation in repr(vars(record))
        assert "tool's own log" not in repr(result)


async def test_every_published_name_is_there_under_the_worker(tmp_path: Path) -> None:
    """A file written for the published SDK finds all that it may import."""
    async with broker_and_client(tmp_path) as mesh, worker_in_process(mesh, [OWN]):
        result = await mesh.client.call("modules", {"names": PUBLISHED_NAMES, "beneath": list(PUBLISHED_MODULES)})
    assert result.data == {"missing": []}, result
