"""Small things that the worker does for tools and callers: credentials, paths, errors of published SDKs."""

import json
from pathlib import PurePosixPath
from typing import Any

import pytest

from toolmesh_contracts.envelopes.reply import Outcome
from toolmesh_contracts.envelopes.values import Caller
from toolmesh_contracts.errors import ErrorCode
from toolmesh_runtime.process.path_hiding import PathHider
from toolmesh_runtime.process.result_envelope import ToolReturn, read_envelope
from toolmesh_runtime.process.runner_args import CallFolder, RunnerArgs
from toolmesh_runtime.process.static_credential import static_credential


@pytest.mark.parametrize(
    ("auth", "token", "header"),
    [
        ({"type": "bearer", "token": "t"}, "t", "Bearer t"),
        ({"type": "bearer", "credential": {"token": "t"}}, "t", "Bearer t"),
        ({"type": "basic", "username": "ada", "password": "p:w"}, "", "Basic YWRhOnA6dw=="),
        ({"type": "bearer", "token": "two\r\nlines"}, "", None),
        ({"type": "bearer", "token": ""}, "", None),
        ({"type": "basic", "username": "ada"}, "", None),
        ({"type": "oauth2", "token": "t"}, "", None),
        ({}, "", None),
        ("text", "", None),
        (None, "", None),
    ],
)
@pytest.mark.requirement("process:credential")
def test_static_credential_is_a_ready_header(auth: Any, token: str, header: str | None) -> None:
    """Only whole and one-line credentials; a sign-in's settings are none."""
    found = static_credential({"auth": auth})
    assert found.token == token
    assert found.headers == ({"Authorization": header} if header else {})
    assert found.secrets == ((header.rpartition(" ")[2],) if header else ())


def test_arguments_file_names_credential_and_socket() -> None:
    """Headers are an object of texts, and the socket is named only where someone listens and an address can hold its name."""

    def fields(root: str, address: str = "") -> dict[str, Any]:
        arguments = RunnerArgs(
            folder=CallFolder(PurePosixPath(root)),
            tool_name="t",
            arguments=b"{}",
            tool_config={"auth": {"type": "bearer", "token": "t"}},
            caller=Caller(user="u", agent="a"),
            invocation="i",
            attempt=1,
            deadline_ms=0,
            model_address=address,
        )
        return dict(json.loads(arguments.to_json()))

    served = fields("/work", CallFolder(PurePosixPath("/work")).model_address)
    assert (served["tool_oauth_token"], served["tool_auth_headers"]) == ("t", {"Authorization": "Bearer t"})
    assert served["ipc_socket"] == "/work/ipc.sock"
    assert fields("/work")["ipc_socket"] == ""
    assert CallFolder(PurePosixPath(f"/{'d' * 110}")).model_address == ""


@pytest.mark.requirement("process:failures")
def test_paths_of_the_machine_become_those_of_the_tool() -> None:
    """The longest folder counts, and a folder alone is a point."""
    hider = PathHider(
        [(PurePosixPath("/var/lib/m/run/1"), ""), (PurePosixPath("/var/lib/m"), "mesh"), (PurePosixPath("/work"), "")]
    )
    text = "open /var/lib/m/run/1/input/a.txt, /work and /var/lib/m/published/x, not /working"
    assert hider.text(text) == "open input/a.txt, . and mesh/published/x, not .ing"


def failed(error: str) -> ToolReturn:
    return read_envelope(json.dumps({"result": None, "error": error}).encode())


TRACE = 'Traceback (most recent call last):\n  File "/work/t.py", line 3, in f\n    raise x\n'


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (f"Execution error: bad\n{TRACE}ValueError: bad\n", "ValueError", "ValueError: bad"),
        (f"Execution error: one\ntwo\n{TRACE}my.Trouble: one\ntwo\n", "my.Trouble", "my.Trouble: one\ntwo"),
        (f"Execution error: \n{TRACE}KeyError\n", "", "KeyError"),
        ("Execution error: no trace", "", "no trace"),
        ("Tool 'x' not found in provider P", "", "Tool 'x' not found in provider P"),
        (
            'loading artifacts: required artifact "x" not provided',
            "",
            'loading artifacts: required artifact "x" not provided',
        ),
        ("first | second", "", "first | second"),
        ("panic: boom | main.f | \t/home/builder/x.go:7", "panic", "panic: boom"),
    ],
)
@pytest.mark.requirement("process:failures")
def test_error_of_a_published_sdk_is_told_without_its_trace(error: str, kind: str, message: str) -> None:
    """The whole message and its class for the model, everything for the operator's log."""
    returned = failed(error)
    assert returned.error is not None
    assert (returned.error.code, returned.error.type, returned.error.message) == (ErrorCode.TOOL_ERROR, kind, message)
    assert returned.log == error


@pytest.mark.parametrize(
    "text",
    [
        "<coroutine object f.<locals>.g at 0x7f1>",
        "<generator object f at 0x7f1>",
        "<async_generator object f at 0x7f1>",
    ],
)
@pytest.mark.requirement("process:results")
def test_unfinished_value_is_no_success(text: str) -> None:
    """Published SDKs write a forgotten await as a result; text that only speaks of one is text."""
    document = {"result": {"text": text, "data_objects": []}, "error": ""}
    returned = read_envelope(json.dumps(document).encode())
    assert returned.outcome is Outcome.ERROR
    assert "an await is missing" in returned.message
    document["result"] = {"text": f"I saw {text}", "data_objects": []}
    assert read_envelope(json.dumps(document).encode()).outcome is Outcome.OK
