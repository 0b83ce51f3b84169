"""The executor as a process: ready line, health, heartbeat, warnings, clean stop, exit codes."""

import asyncio
import contextlib
import json
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.support.brokers import NAMESPACE, jetstream_settings, provisioned_jetstream
from tests.support.health_pages import fetch
from tests.support.nats_server import NatsServerProcess, nats_server
from tests.support.scripted_worker import echo, scripted_worker
from tests.support.tool_client import until

from toolmesh_broker.heartbeats import read_heartbeats
from toolmesh_broker.jetstream.broker import connect as connect_broker
from toolmesh_identity.development import ISSUER_NAME, DevelopmentIssuer

pytestmark = pytest.mark.timeout(60)

AGENTS = """
agents:
  - name: weather_agent
    tools:
      - {tool_type: builtin, tool_name: echo, tool_config: {key: "${SECRET_KEY}"}}
      - {tool_type: builtin, tool_name: ghost}
      - {tool_type: builtin, tool_name: web_request}
"""


def write_config(folder: Path, url: str, **changes: Any) -> Path:
    """An executor's configuration with keys of a development issuer."""
    issuer = DevelopmentIssuer.create_or_load(folder / "keys")
    (folder / "agents").mkdir(exist_ok=True)
    (folder / "agents" / "weather.yaml").write_text(AGENTS)
    config = {
        "namespace": NAMESPACE,
        "executor_id": "executor-1",
        "broker": {"url": url},
        "agents": ["agents"],
        "keys": {
            "signing": str(issuer.executor_key_file),
            "issuer": str(issuer.issuer_public_file),
            "issuer_name": ISSUER_NAME,
            "sealing": {"default": str(issuer.sealing_public_file("default"))},
        },
        "health": {"port": 0},
        **changes,
    }
    path = folder / "executor.yaml"
    path.write_text(yaml.safe_dump(config))
    return path


async def start(config: Path | str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "toolmesh_executor",
        str(config),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={"PATH": "/usr/bin:/bin", "SECRET_KEY": "hunter2hunter2"},
    )


@contextlib.asynccontextmanager
async def executor(config: Path) -> AsyncIterator[tuple[asyncio.subprocess.Process, list[dict[str, Any]]]]:
    """A running executor and the log lines it has written so far."""
    process = await start(config)
    lines: list[dict[str, Any]] = []

    async def read() -> None:
        assert process.stderr is not None
        while line := await process.stderr.readline():
            lines.append(json.loads(line))

    reading = asyncio.create_task(read())
    try:
        await until(lambda: "ready" in events(lines) or process.returncode is not None, "the ready line")
        yield process, lines
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
        await reading


def events(lines: list[dict[str, Any]]) -> list[str]:
    return [line["event"] for line in lines]


@contextlib.asynccontextmanager
async def provisioned(folder: Path) -> AsyncIterator[NatsServerProcess]:
    async with nats_server(folder / "nats") as server, provisioned_jetstream(server):
        yield server


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
async def test_an_executor_says_when_it_is_ready_and_ends_cleanly(tmp_path: Path, stop: signal.Signals) -> None:
    """One ready line with the health port; a signal ends it with exit code 0."""
    async with provisioned(tmp_path) as server, executor(write_config(tmp_path, server.url)) as (process, lines):
        (ready,) = [line for line in lines if line["event"] == "ready"]
        assert ready["agents"] == ["weather_agent"]
        assert (ready["service"], ready["instance"]) == ("agent-executor", "executor-1")
        assert (await fetch(ready["health_port"], "/health"))[0] == 200
        process.send_signal(stop)
        assert await asyncio.wait_for(process.wait(), 15) == 0


@pytest.mark.requirement("watch:health")
async def test_what_an_agent_lacks_is_visible_everywhere(tmp_path: Path) -> None:
    """Log, /ready, metrics and heartbeat tell of tools that are not there; one that comes is told, too."""
    async with (
        provisioned(tmp_path) as server,
        connect_broker(jetstream_settings(server, "worker")) as broker,
        executor(write_config(tmp_path, server.url)) as (_, lines),
    ):
        port = next(line["health_port"] for line in lines if line["event"] == "ready")
        await until(lambda: events(lines).count("tool can't be called") == 2, "both warnings")
        left_out = next(line for line in lines if line["event"] == "tool left out")
        assert left_out["tool"] == "weather_agent/web_request"
        status, body = await fetch(port, "/ready")
        assert status == 200
        for name in ("web_request", "ghost", "echo"):
            assert f"weather_agent/{name}" in body

        async with scripted_worker(broker, {"echo": echo}):
            await until(lambda: "tool can be called again" in events(lines), "the tool's return")
            assert "toolmesh_executor_problems 2.0" in (await fetch(port, "/metrics"))[1]

            async def beats() -> bool:
                found = await read_heartbeats(broker)
                return [(beat.kind, beat.tools, len(beat.problems)) for beat in found] == [("executor", 2, 2)]

            await until(beats, "a heartbeat with two problems")
        assert "hunter2hunter2" not in json.dumps(lines)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"executor_id": "a b"}, "executor_id"),
        ({"namespce": "x"}, "did you mean 'namespace'"),
        ({"keys": {"signing": "missing.json", "issuer": "missing.json"}}, "missing.json"),
    ],
)
async def test_a_wrong_configuration_exits_with_2_and_says_why(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    """Plain text on stderr that names the file or key."""
    process = await start(write_config(tmp_path, "nats://127.0.0.1:1", **changes))
    _, stderr = await asyncio.wait_for(process.communicate(), 30)
    assert process.returncode == 2, stderr
    assert message in stderr.decode()
    assert "Traceback" not in stderr.decode()


async def test_a_missing_configuration_file_exits_with_2(tmp_path: Path) -> None:
    """A mistyped path is named."""
    process = await start(tmp_path / "nowhere.yaml")
    _, stderr = await asyncio.wait_for(process.communicate(), 30)
    assert process.returncode == 2
    assert "nowhere.yaml" in stderr.decode()


async def test_an_unreachable_broker_exits_with_3(tmp_path: Path) -> None:
    """After the connect timeout, with the broker's address and a cure."""
    process = await start(write_config(tmp_path, "nats://127.0.0.1:1"))
    _, stderr = await asyncio.wait_for(process.communicate(), 40)
    assert process.returncode == 3, stderr
    assert "127.0.0.1:1" in stderr.decode()
    assert "Traceback" not in stderr.decode()
