"""What callers get from a real worker for every way in which a tool behaves."""

import json
import resource
from pathlib import Path

import pytest
from tests.support.worker_mesh import broker_and_client, worker_in_process

from toolmesh_client import Secret
from toolmesh_contracts.envelopes.reply import Outcome, Status
from toolmesh_contracts.errors import ErrorCode

ODD = Path(__file__).parents[2] / "toolsets" / "odd"


@pytest.mark.requirement("call:sizes")
async def test_large_odd_and_empty_values_arrive_right(tmp_path: Path) -> None:
    """5 MB in, 30 MB out, a 100 MB file, nothing, NaN and bytes that are no text: right outcome, bounded memory."""
    async with broker_and_client(tmp_path) as mesh, worker_in_process(mesh, [ODD]):
        call = mesh.client.call

        measured = await call("measure", {"text": "x" * 5_000_000 + "end"})
        assert measured.data == {"characters": 5_000_003, "last": "end"}

        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        stored = await call("large_artifact", {"megabytes": 100})
        assert stored.outcome is Outcome.OK
        (artifact,) = stored.artifacts
        assert (artifact.filename, artifact.size) == ("large.bin", 100 * 1024 * 1024)
        await mesh.client.save_artifact(artifact, tmp_path / "large.bin")
        assert (tmp_path / "large.bin").stat().st_size == artifact.size
        grown_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        assert grown_kib < 60 * 1024, "worker and client together hold the file in memory"

        large = await call("large_result", {"megabytes": 30})
        assert isinstance(large.data, dict)
        assert len(large.data["text"]) == 30 * 1024 * 1024

        nothing = await call("nothing")
        assert (nothing.outcome, nothing.message) == (Outcome.OK, "")

        odd = await call("not_a_number")
        assert odd.data == {"a": None, "b": [None, 1.5]}
        assert any("NaN" in note for note in odd.notes)

        text = await call("broken_text")
        assert text.message == "caf\ufffd" or text.data == {"text": "caf\ufffd"}
        assert any("UTF-8" in note for note in text.notes)


@pytest.mark.parametrize(
    ("tool", "code", "says"),
    [
        ("too_slow", ErrorCode.SANDBOX_TIMEOUT, "1 s"),
        ("crash", ErrorCode.EXECUTION_ERROR, "signal 11"),
        ("leave", ErrorCode.EXECUTION_ERROR, "exit code 3"),
        ("fail", ErrorCode.TOOL_ERROR, "can't reach"),
    ],
)
@pytest.mark.requirement("process:failures")
async def test_failures_have_their_code_and_say_why(tmp_path: Path, tool: str, code: ErrorCode, says: str) -> None:
    """No failure is reported as a success, and each says what happened."""
    async with broker_and_client(tmp_path) as mesh, worker_in_process(mesh, [ODD]):
        result = await mesh.client.call(tool)
    assert result.outcome is Outcome.ERROR
    assert result.error is not None
    assert result.error.code is code
    assert says in result.error.message


@pytest.mark.requirement("process:failures")
async def test_result_counts_although_the_process_stays(tmp_path: Path) -> None:
    """A thread that outlives the tool costs about a second, not the time limit."""
    async with broker_and_client(tmp_path) as mesh, worker_in_process(mesh, [ODD]):
        result = await mesh.client.call("linger")
    assert (result.outcome, result.message) == (Outcome.OK, "returned")
    assert result.usage is not None
    assert result.usage.wall_ms < 20_000


@pytest.mark.requirement("process:outputs")
async def test_artifact_goes_in_and_out(tmp_path: Path) -> None:
    """A local file reaches the tool, and what it makes comes back with its type and description."""
    source = tmp_path / "note.txt"
    source.write_text("soft words")
    async with broker_and_client(tmp_path) as mesh, worker_in_process(mesh, [ODD]):
        result = await mesh.client.call("read_back", {"document": "note.txt"}, artifacts={"document": source})
        assert result.outcome is Outcome.OK, result
        (artifact,) = result.artifacts
        content = b"".join([chunk async for chunk in mesh.client.open_artifact(artifact)])
    assert content == b"SOFT WORDS"
    assert (artifact.filename, artifact.mime_type, artifact.description) == ("upper.txt", "text/plain", "louder")


@pytest.mark.requirement("identity:sealed")
async def test_sealed_secret_reaches_the_tool_and_nobody_else(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The tool has the secret; results, statuses, errors, logs and the broker's files do not."""
    secret = "db://user:zebra-crossing-42@host/x"
    statuses: list[Status] = []
    async with broker_and_client(tmp_path) as mesh, worker_in_process(mesh, [ODD]):
        arguments = {"tool_config": {"units": "celsius"}, "secrets": [Secret(("url",), secret)]}
        told = await mesh.client.call("tell", on_status=statuses.append, **arguments)  # type: ignore[arg-type]
        failed = await mesh.client.call("fail", **arguments)  # type: ignore[arg-type]
        stored = b"".join(path.read_bytes() for path in (tmp_path / "data").rglob("*") if path.is_file())
    assert isinstance(told.data, dict)
    assert told.data["config"]["units"] == "celsius"
    assert told.data["config"]["url"] not in {None, secret}
    assert any(status.text.startswith("using ") for status in statuses)
    assert failed.error is not None
    assert failed.error.message.startswith("RuntimeError: can't reach ")
    everything = repr(told) + repr(statuses) + repr(failed) + caplog.text
    assert "zebra-crossing-42" not in everything
    assert b"zebra-crossing-42" not in stored


@pytest.mark.requirement("sandbox:environment")
async def test_tool_sees_a_clean_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the worker's environment reaches the tool, and it does not run as root."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary")
    async with broker_and_client(tmp_path) as mesh, worker_in_process(mesh, [ODD]):
        result = await mesh.client.call("environment")
    assert isinstance(result.data, dict)
    allowed = {
        "HOME",
        "LANG",
        "LC_CTYPE",
        "PATH",
        "PWD",
        "PYTHONDONTWRITEBYTECODE",
        "PYTHONPATH",
        "PYTHONUTF8",
        "TMPDIR",
    }
    values = result.data["values"]
    assert set(values) <= allowed
    assert values["PATH"] == "/usr/local/bin:/usr/bin:/bin"
    assert (values["LANG"], values["PYTHONUTF8"], values["PYTHONDONTWRITEBYTECODE"]) == ("C.UTF-8", "1", "1")
    assert values["HOME"] == values["TMPDIR"] == "/work"
    assert values["PYTHONPATH"] == "/opt/toolmesh/toolset/python:/opt/toolmesh/toolset"
    assert result.data["uid"] != 0


@pytest.mark.requirement("identity:scopes")
async def test_scope_of_the_manifest_is_checked_by_the_worker(tmp_path: Path) -> None:
    """A caller without the tool's own scope is refused by the worker, and the refusal names the scope."""
    async with broker_and_client(tmp_path, scopes=("tool:other:run",)) as mesh, worker_in_process(mesh, [ODD]):
        refused = await mesh.client.call("guarded")
        allowed = await mesh.client.call("nothing")
    assert refused.error is not None
    assert refused.error.code is ErrorCode.PERMISSION_DENIED
    assert "tool:guarded:run" in refused.error.message
    assert allowed.outcome is Outcome.OK


async def test_broken_arguments_are_refused_before_the_tool_starts(tmp_path: Path) -> None:
    """Deep nesting that a client let through ends as an error of the arguments, not of the worker."""
    deep = b'{"text": ' + b"[" * 900 + b"]" * 900 + b"}"
    async with broker_and_client(tmp_path) as mesh, worker_in_process(mesh, [ODD]):
        result = await mesh.client.call("measure", json.dumps({"text": "ok"}).encode())
        assert result.data == {"characters": 2, "last": "ok"}
        odd = await mesh.client.call("measure", deep)
    assert odd.outcome is Outcome.ERROR
