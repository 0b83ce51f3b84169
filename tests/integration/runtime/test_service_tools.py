"""Declared tools that an HTTP service answers, through a broker and a real worker."""

import hashlib
import hmac
from pathlib import Path
from typing import Any

import pytest
from tests.support.agent_folder import agent_folder
from tests.support.http_service import answer, http_service
from tests.support.worker_mesh import broker_and_client, worker_in_process

from toolmesh_contracts.errors import ErrorCode
from toolmesh_contracts.vessel import load_vessel

ANSWERS = {
    "/tools/ok": answer(b'{"found": 1}\n'),
    "/tools/echo": answer(b"you said Bearer app-token and key-of-the-app"),
    "/tools/none": answer(b"", "204 No Content"),
    "/tools/bad": answer(b"no such thing\n", "404 Not Found"),
    "/tools/moved": answer(b"", "302 Found", "location: http://127.0.0.1:1/secret"),
    "/tools/long": answer("é".encode() * 9000),
    "/tools/slow": b"",
    "/tools/broken": b"no HTTP at all\r\n\r\n",
}


def service_folder(folder: Path, base: str, **more: str) -> Path:
    """An agent folder with a tool for each path of the service."""
    tools = [path.rpartition("/")[2] for path in ANSWERS]
    agent = agent_folder(folder, dict.fromkeys(tools, "true"))
    for name in tools:
        text = f'name = "{name}"\ndescription = "d"\n{more.get(name, "")}\n[service]\nurl = "{base}/tools/{name}?v=1"\n'
        (agent / "tools" / f"{name}.toml").write_text(f'{text}[service.headers]\nX-Plain = "plain"\n')
    return agent


@pytest.mark.requirement("declared:services")
async def test_what_a_service_is_told_and_what_it_answers(tmp_path: Path) -> None:
    """Arguments, identity, a signature and the operator's credentials go there; text and status come back."""
    async with http_service(ANSWERS) as service, broker_and_client(tmp_path) as mesh:
        agent = service_folder(tmp_path / "a", service.url(""), slow="timeout_seconds = 0.5")
        endpoint = {
            "url": service.url("/tools"),
            "private": True,
            "signing_secret": "key-of-the-app",
            "headers": {"Authorization": "Bearer app-token"},
        }
        results: dict[str, Any] = {}
        async with worker_in_process(mesh, [agent], services=[endpoint]):
            for name in ("ok", "echo", "none", "bad", "moved", "long", "slow", "broken"):
                results[name] = await mesh.client.call(name, {"word": "é"})

    asked = service.requests[0]
    assert (asked.method, asked.target, asked.body) == ("POST", "/tools/ok?v=1", b'{"word": "\\u00e9"}')
    told = asked.headers
    assert told["host"] == f"127.0.0.1:{service.port}"
    assert (told["authorization"], told["x-plain"]) == ("Bearer app-token", "plain")
    assert (told["x-toolmesh-user"], told["x-toolmesh-agent"], told["x-toolmesh-tool"]) == ("ada", "tester", "ok")
    at, _, signed = told["x-toolmesh-signature"].removeprefix("t=").partition(",v1=")
    names = ("user", "agent", "session", "task", "tool", "invocation")
    lines = ["v1", at, "POST", "/tools/ok?v=1", *(told[f"x-toolmesh-{name}"] for name in names)]
    lines.append(hashlib.sha256(asked.body).hexdigest())
    assert signed == hmac.new(b"key-of-the-app", "\n".join(lines).encode(), hashlib.sha256).hexdigest()

    assert {name: result.message for name, result in results.items() if name not in {"long", "echo", "broken"}} == {
        "ok": '{"found": 1}\n',
        "none": "[status 204]",
        "bad": "no such thing\n",
        "moved": "[status 302]",
        "slow": "[timed out after 0.5 s]",
    }
    assert results["long"].message == "é" * 8000 + "\n[output cut: 1000 characters dropped]"
    codes = {name: result.error.code for name, result in results.items() if result.error}
    assert codes == {
        "bad": ErrorCode.TOOL_ERROR,
        "moved": ErrorCode.TOOL_ERROR,
        "slow": ErrorCode.SANDBOX_TIMEOUT,
        "broken": ErrorCode.TOOL_ERROR,
    }
    assert results["bad"].data["http_status"] == 404
    assert "app-token" not in str(results)
    assert "key-of-the-app" not in str(results)


@pytest.mark.requirement("declared:services")
async def test_a_service_that_nobody_allowed_is_not_called(tmp_path: Path) -> None:
    """Without an entry its tool is left out, and told; with one, a private address still needs the operator's word."""
    async with http_service(ANSWERS) as service, broker_and_client(tmp_path) as mesh:
        agent = service_folder(tmp_path / "a", service.url(""))
        (agent / "tools" / "none.toml").write_text(
            f'name = "none"\ndescription = "d"\n[service]\nurl = "{service.url("/other")}"\n'
        )
        allowed = [{"url": service.url("/tools/")}]
        async with worker_in_process(mesh, [agent], services=allowed, served=len(ANSWERS) - 1):
            tools = set(mesh.client.tools()["default"])
            refused = await mesh.client.call("ok")

    assert tools == {path.rpartition("/")[2] for path in ANSWERS} - {"none"}
    assert refused.error is not None
    assert refused.error.code is ErrorCode.PERMISSION_DENIED
    assert "private: true" in refused.error.hint
    assert service.requests == []


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        ('Host = "x"', "set by toolmesh"),
        ('X-Toolmesh-User = "x"', "set by toolmesh"),
        ('"a b" = "x"', "HTTP does not allow"),
        ('A = "x\\r\\ny"', "line breaks"),
        ('A = "é"', "not ASCII"),
    ],
)
def test_headers_that_would_lie_are_refused_at_load(tmp_path: Path, header: str, reason: str) -> None:
    """A tool's file can't speak for the worker, nor break the request."""
    agent = agent_folder(tmp_path / "a", {"one": "true"})
    (agent / "tools" / "one.toml").write_text(
        f'name = "one"\ndescription = "d"\n[service]\nurl = "https://x.test/"\n[service.headers]\n{header}\n'
    )

    assert reason in str(load_vessel(agent).problems[0])
