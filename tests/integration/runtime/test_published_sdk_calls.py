"""Tools under the published SDK, called through a real broker and a real worker."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.support.published_sdk import RELEASES, published_toolset
from tests.support.toolset_reading import discovery
from tests.support.worker_mesh import POOL, WorkerMesh, broker_and_client, worker_in_process

from toolmesh_broker.ports import Message
from toolmesh_client import CallResult
from toolmesh_contracts.envelopes.catalog import DescribeReply, DescribeRequest
from toolmesh_contracts.envelopes.reply import Outcome
from toolmesh_contracts.envelopes.services import ModelReply
from toolmesh_contracts.envelopes.values import Caller
from toolmesh_contracts.errors import ErrorCode
from toolmesh_contracts.headers import SCHEMA
from toolmesh_contracts.wire import decode, encode, schema_name
from toolmesh_runtime.process.runner_args import CallFolder, RunnerArgs
from toolmesh_runtime.process.tool_run import RunLimits, run_tool
from toolmesh_sandbox.outputs import OutputLimits
from toolmesh_sandbox.workspaces import Workspace

pytestmark = pytest.mark.timeout(240)  # the first run downloads the releases

NEWEST = RELEASES[-1]


@asynccontextmanager
async def published_mesh(
    folder: Path, release: str, tools: Sequence[str], *, strict: bool = False
) -> AsyncIterator[WorkerMesh]:
    toolset = await asyncio.to_thread(published_toolset, folder / "toolset", release, tools, strict=strict)
    async with broker_and_client(folder) as mesh, worker_in_process(mesh, [toolset]):
        yield mesh


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.requirement("published:releases")
async def test_tools_of_every_release_run_unchanged(release: str, tmp_path: Path) -> None:
    """A function, a provider behind a console script, and one that its own SDK can't call; numbers come as text."""
    async with published_mesh(tmp_path, release, ["get_forecast", "get_alerts", "add"]) as mesh:
        forecast, alerts, added, missing = await asyncio.gather(
            mesh.client.call("get_forecast", {"city": "Ørsta 😀", "days": "2", "units": "C"}),
            mesh.client.call("get_alerts", {"region": "NO-03"}),
            mesh.client.call("add", {"left": "2", "right": 3}),
            mesh.client.call("add", {"left": "two", "right": 3}),
        )
        shown = mesh.client.catalog.get(POOL, "get_alerts")
    assert (forecast.outcome, forecast.message) == (Outcome.OK, "Sunny in Ørsta 😀, 24 C.")
    assert forecast.notes == ("get_forecast has no argument 'units'; left out. it takes: city, days",)
    assert (alerts.message, alerts.data) == ("Alerts for NO-03", {"alerts": ["ada"]})
    assert added.message == "5"
    assert missing.error is not None
    assert (missing.error.code, missing.error.message) == (
        ErrorCode.INVALID_ARGUMENTS,
        'add: left: "two" is not of type "integer"',
    )
    assert shown is not None
    assert shown.entry.description == "Return active alerts."
    assert shown.entry.instructions == "Looks at the whole region."


@pytest.mark.requirement("published:strict")
async def test_strict_toolset_runs_as_the_package_alone(tmp_path: Path) -> None:
    """What the package can't call fails, the description is the whole docstring, and arguments are not converted."""
    async with published_mesh(tmp_path, NEWEST, ["get_forecast", "get_alerts", "add"], strict=True) as mesh:
        forecast = await mesh.client.call("get_forecast", {"city": 5})
        added = await mesh.client.call("add", {"left": 2, "right": 3})
        shown = mesh.client.catalog.get(POOL, "get_alerts")
    assert forecast.message == "Sunny in 5, 23 C."
    assert added.error is not None
    assert "got multiple values for argument 'left'" in added.error.message
    assert shown is not None
    assert shown.entry.description.endswith("Args:\n    region: Region code.")


@pytest.mark.parametrize("release", ["0.1.0", NEWEST])
@pytest.mark.requirement("published:files")
async def test_artifacts_model_and_configuration_reach_a_published_tool(release: str, tmp_path: Path) -> None:
    """The client of the package speaks with our socket, and its files keep type, description, folder and number."""
    (tmp_path / "report.txt").write_text("soft words")

    async def answer(message: Message) -> None:
        await message.respond(encode(ModelReply(text="from the model")))

    async with published_mesh(tmp_path, release, ["everything"]) as mesh:
        broker = mesh.client.broker
        call: dict[str, Any] = {
            "artifacts": {"doc": tmp_path / "report.txt"},
            "tool_config": {"unit": "celsius"},
        }
        absent = await mesh.client.call("everything", {"city": "Oslo"}, **call)
        async with broker.subscribe(broker.subjects.model(POOL), answer):
            result = await mesh.client.call("everything", {"city": "Oslo", "n": "7"}, **call)
        lacking = await mesh.client.call("everything", {"city": "Oslo", "doc": "gone.txt"})
        files = {artifact.filename: artifact for artifact in result.artifacts}
        assert result.outcome is Outcome.OK, result
        content = b"".join([chunk async for chunk in mesh.client.open_artifact(files["same-2.txt"])])
    assert result.data == {
        "doc": "soft words",
        "version": 0,
        "mime_type": "text/plain",
        "n": 8,
        "answer": "from the model",
        "unit": "celsius",
        "user": "ada",
        "profile": "ada" if release == NEWEST else "not in this release",
    }
    assert isinstance(absent.data, dict)
    assert (
        absent.data["answer"]
        == "IPCError: IPC error -32000: no model can be asked: no executor answers for this pool now"
    )
    assert set(files) == {"chart.svg", "deep/er.csv", "same.txt", "same-2.txt"}
    chart, csv = files["chart.svg"], files["deep/er.csv"]
    assert (chart.mime_type, chart.description) == ("image/svg+xml", "a chart")
    assert {key: bytes(value) for key, value in (chart.metadata or {}).items()} == {"w": b"3"}
    assert (csv.mime_type, csv.preview, csv.disposition) == ("text/csv", "a", "artifact_with_preview")
    assert content == b"2"
    assert [(output.name, output.content) for output in result.inline_outputs] == [("note.txt", "short")]
    assert any("'../result.json' was refused" in note for note in result.notes)
    assert lacking.error is not None
    assert lacking.error.code is ErrorCode.ARTIFACT_ERROR


@pytest.mark.requirement("published:catalog")
async def test_schema_under_a_configuration_is_what_the_tool_makes_of_it(tmp_path: Path) -> None:
    """Description, instructions and parameters change with tool_config; the tool answers to its static name."""
    request = DescribeRequest(
        request="r-1", executor="client", tool="ask", tool_config=msgspec.Raw(b'{"backend": "mongo"}')
    )
    async with published_mesh(tmp_path, NEWEST, ["ask"]) as mesh:
        broker = mesh.client.broker
        headers = {SCHEMA: schema_name(DescribeRequest)}
        answer = await broker.request(broker.subjects.describe(POOL, "ask"), encode(request), 10, headers)
        called = await mesh.client.call("ask", {"query": "all"}, tool_config={"backend": "mongo"})
        shown = mesh.client.catalog.get(POOL, "ask")
    reply = decode(DescribeReply, answer.body)
    assert reply.entry is not None, reply
    assert (reply.entry.tool, reply.entry.description, reply.entry.instructions) == (
        "ask",
        "Ask mongo.",
        "Speak mongo.",
    )
    assert json.loads(bytes(reply.entry.parameters))["properties"] == {"query": {"type": "integer"}}
    assert called.message == "mongo says all"
    assert shown is not None
    assert (shown.entry.description, shown.entry.timeout_ms) == ("Ask a database.", 17_000)
    assert not isinstance(shown.entry.config_schema, msgspec.UnsetType)
    (field,) = json.loads(bytes(shown.entry.config_schema))
    assert (field["key"], field["secret"], field["options"]) == ("backend", True, ["sql", "mongo"])


SUCCESSES: dict[str, tuple[Outcome, str, Any]] = {
    "ok": (Outcome.OK, "m", None),
    "data": (Outcome.OK, "m", {"a": 1}),
    "partial": (Outcome.PARTIAL, "half", {"a": 1}),
    "pending": (Outcome.PENDING, "sure?", {"hil_request_id": "7"}),
    "message_dict": (Outcome.OK, "", {"a": 1}),
    "message_list": (Outcome.OK, "", [1]),
    "message_none": (Outcome.OK, "", None),
    "message_zero": (Outcome.OK, "", None),
    "falsy_data": (Outcome.OK, "m", None),
    "list_data": (Outcome.OK, "m", [1]),
    "none": (Outcome.OK, "", None),
    "text": (Outcome.OK, "plain", None),
    "number": (Outcome.OK, "42", None),
    "truth": (Outcome.OK, "True", None),
    "bytes": (Outcome.OK, "b'ab'", None),
    "tuple": (Outcome.OK, "(1, 2)", None),
    "list": (Outcome.OK, "[1, 2]", None),
    "coroutine": (Outcome.OK, "later", None),
    "fork": (Outcome.OK, "the child goes on", None),
    "thread": (Outcome.OK, "the thread goes on", None),
    "dict": (Outcome.OK, "", {"a": 1}),
    "odd_values": (
        Outcome.OK,
        "",
        {
            "when": "2026-01-02",
            "price": "1.50",
            "id": "00000000-0000-0000-0000-000000000001",
            "path": "/x",
            "set": "{1}",
            "raw": "b'a'",
        },
    ),
    "nan": (Outcome.OK, "", {"a": None, "b": None, "c": 1}),
    "surrogate": (Outcome.OK, "", {"a": "?"}),
}

FAILURES: dict[str, tuple[ErrorCode, str, str]] = {
    "error": (ErrorCode.TOOL_ERROR, "E1", "bad"),
    "unmarked": (ErrorCode.TOOL_ERROR, "E1", "bad"),
    "weird": (ErrorCode.TOOL_ERROR, "", "the tool returned the unknown status 'weird': m"),
    "generator": (ErrorCode.TOOL_ERROR, "", "the tool returned a generator instead of a result: an await is missing"),
    "value_error": (ErrorCode.TOOL_ERROR, "ValueError", "ValueError: bad value"),
    "many_lines": (ErrorCode.TOOL_ERROR, "ValueError", "ValueError: first\nsecond"),
    "recursion": (ErrorCode.TOOL_ERROR, "RecursionError", "RecursionError: maximum recursion depth exceeded"),
    "paths": (ErrorCode.TOOL_ERROR, "FileNotFoundError", "No such file or directory: 'secret-plan.txt'"),
    "tuple_keys": (ErrorCode.EXECUTION_ERROR, "", "exit code 1 and left no result: TypeError: keys must be str"),
    "circular": (ErrorCode.EXECUTION_ERROR, "", "exit code 1 and left no result: ValueError: Circular reference"),
    "exit_0": (ErrorCode.EXECUTION_ERROR, "", "exit code 0 and left no result"),
    "exit_3": (ErrorCode.EXECUTION_ERROR, "", "exit code 3 and left no result"),
    "gone": (ErrorCode.EXECUTION_ERROR, "", "exit code 9 and left no result"),
    "interrupt": (ErrorCode.EXECUTION_ERROR, "", "signal 2 and left no result"),
    "segfault": (ErrorCode.EXECUTION_ERROR, "", "signal 11 and left no result"),
    "cancelled": (ErrorCode.EXECUTION_ERROR, "", "exit code 1 and left no result: asyncio.exceptions.CancelledError"),
    "base_exception": (ErrorCode.EXECUTION_ERROR, "", "exit code 1 and left no result: BaseException: base"),
}


@pytest.mark.requirement("process:results")
async def test_every_shape_of_a_published_result_has_its_outcome(tmp_path: Path) -> None:
    """Each row of the contract's tables of results and exit codes: no failure is a success, and no work is lost."""
    async with published_mesh(tmp_path, NEWEST, ["shapes"]) as mesh:
        kinds = [*SUCCESSES, *FAILURES, "auth"]
        results = await asyncio.gather(*(mesh.client.call("shapes", {"kind": kind}) for kind in kinds))
    told = dict(zip(kinds, results, strict=True))
    for kind, expected in SUCCESSES.items():
        assert (kind, told[kind].outcome, told[kind].message, told[kind].data) == (kind, *expected)
    for kind, (code, type_, message) in FAILURES.items():
        error = told[kind].error
        assert error is not None, kind
        assert (kind, told[kind].outcome, error.code, error.type) == (kind, Outcome.ERROR, code, type_)
        assert message in error.message
    assert told["error"].data == {"a": 1}
    assert told["nan"].notes == ("NaN or Infinity in the result became null",)
    assert told["auth"].outcome is Outcome.AUTH_REQUIRED
    assert all("/work/" not in shown(result) and "/opt/toolmesh" not in shown(result) for result in results)


def shown(result: CallResult) -> str:
    """What a model sees of a failure."""
    return "" if result.error is None else result.error.message


@pytest.mark.requirement("process:status")
async def test_no_status_is_lost_or_glued(tmp_path: Path) -> None:
    """Two thousand statuses without a pause, one longer than a pipe takes at once, one that is no text: all arrive."""
    toolset = await asyncio.to_thread(published_toolset, tmp_path / "toolset", NEWEST, ["statuses"])
    told: list[str] = []

    async def started() -> None:
        told.append("started")

    async def prepare(_workspace: Workspace, folder: CallFolder) -> RunnerArgs:
        return RunnerArgs(
            folder=folder,
            tool_name="statuses",
            arguments=b'{"count": 2000}',
            tool_config={},
            caller=Caller(user="ada", agent="tester"),
            invocation="call",
            attempt=1,
            deadline_ms=0,
        )

    async with discovery(toolset) as found:
        tool = (await found.read()).tools["statuses"]
        limits = RunLimits(result_bytes=1 << 20, outputs=OutputLimits())
        async with run_tool(
            found.confinement,
            tool.program,
            prepare,
            wall_clock_s=30,
            limits=limits,
            on_status=lambda text, _progress: told.append(text),
            on_started=started,
        ) as run:
            assert run.returned.message == "sent", run.returned
    assert told == [
        "started",
        *(f"status {number}" for number in range(2000)),
        "x" * 4096,
        '{"no": "text"}',
        "café\nlast",
    ]
