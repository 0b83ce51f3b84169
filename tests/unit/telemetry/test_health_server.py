"""The health endpoints, over real sockets."""

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from toolmesh_telemetry.health_checks import CheckResult
from toolmesh_telemetry.health_server import HealthServer, HealthServerError, serve_health
from toolmesh_telemetry.metrics import Metrics
from toolmesh_telemetry.redaction import Redactor

LIMIT_S = 10


async def good() -> CheckResult:
    return CheckResult(ok=True, detail="3 slots")


async def bad() -> CheckResult:
    return CheckResult(ok=False, detail="broker is away")


async def raising() -> CheckResult:
    raise RuntimeError("password=hunter2")


async def hanging() -> CheckResult:
    await asyncio.Event().wait()
    raise AssertionError


@contextlib.asynccontextmanager
async def serving(**options: Any) -> AsyncIterator[HealthServer]:
    """A server on a free loopback port, and a bound on the whole test."""
    registry = options.pop("registry", None) or CollectorRegistry()
    async with (
        asyncio.timeout(LIMIT_S),
        serve_health("127.0.0.1", 0, options.pop("checks", {}), registry, **options) as server,
    ):
        yield server


async def exchange(server: HealthServer, data: bytes, *, end: bool = True) -> bytes:
    """Send bytes and return all that comes back."""
    reader, writer = await asyncio.open_connection(server.host, server.port)
    try:
        writer.write(data)
        if end:
            writer.write_eof()
        return await reader.read()
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


async def get(server: HealthServer, path: str, method: str = "GET") -> tuple[int, dict[str, str], bytes]:
    answer = await exchange(server, f"{method} {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode(), end=False)
    head, _, body = answer.partition(b"\r\n\r\n")
    status, *lines = head.decode().split("\r\n")
    return int(status.split()[1]), dict(line.lower().split(": ", 1) for line in lines), body


async def room_again(server: HealthServer) -> None:
    """Ask until a connection is served; `serving` bounds the time."""
    while (await get(server, "/health"))[0] != 200:
        await asyncio.sleep(0.01)


async def test_a_process_that_answers_is_alive() -> None:
    """Failing readiness is no reason for a restart."""
    async with serving(checks={"broker": bad}) as server:
        status, headers, body = await get(server, "/health")
    assert (status, json.loads(body)) == (200, {"alive": True, "checks": {}})
    assert headers["content-type"] == "application/json"
    assert headers["connection"] == "close"
    assert headers["content-length"] == str(len(body))


async def test_a_failing_liveness_check_is_a_503() -> None:
    """It names the check."""
    async with serving(live_checks={"loop": bad}) as server:
        status, _, body = await get(server, "/health")
    assert (status, json.loads(body)) == (
        503,
        {"alive": False, "checks": {"loop": {"ok": False, "detail": "broker is away"}}},
    )


async def test_ready_when_every_check_says_yes() -> None:
    """With what each of them says; the query is ignored."""
    async with serving(checks={"slots": good, "more": good}) as server:
        status, _, body = await get(server, "/ready?verbose=1")
    assert status == 200
    assert json.loads(body) == {
        "ready": True,
        "checks": {"slots": {"ok": True, "detail": "3 slots"}, "more": {"ok": True, "detail": "3 slots"}},
    }


@pytest.mark.requirement("watch:health")
async def test_a_failing_raising_or_hanging_check_is_a_503_with_its_name() -> None:
    """None of them hides another, and no secret gets out of an error."""
    checks = {"good": good, "bad": bad, "raising": raising, "hanging": hanging}
    async with serving(checks=checks, check_timeout_s=0.05) as server:
        status, _, body = await get(server, "/ready")
    assert status == 503
    assert json.loads(body) == {
        "ready": False,
        "checks": {
            "good": {"ok": True, "detail": "3 slots"},
            "bad": {"ok": False, "detail": "broker is away"},
            "raising": {"ok": False, "detail": "RuntimeError: password=[redacted]"},
            "hanging": {"ok": False, "detail": "no answer within 0.05 s"},
        },
    }


async def test_details_are_redacted_and_bounded() -> None:
    """With the secrets that the process knows."""

    async def talkative() -> CheckResult:
        return CheckResult(ok=True, detail="swordfish " + "x" * 10_000)

    redactor = Redactor()
    with redactor.hiding(["swordfish"]):
        async with serving(checks={"talkative": talkative}, redactor=redactor) as server:
            _, _, body = await get(server, "/ready")
    assert b"swordfish" not in body
    assert len(body) < 600


async def test_metrics_are_prometheus_text() -> None:
    """In the format's own content type, and readable by its parser."""
    metrics = Metrics()
    metrics.gauge("running", "Calls running now.").set(3)
    async with serving(registry=metrics.registry) as server:
        status, headers, body = await get(server, "/metrics")
    assert status == 200
    assert headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    samples = {
        sample.name: sample.value
        for family in text_string_to_metric_families(body.decode())
        for sample in family.samples
    }
    assert samples["toolmesh_running"] == 3


async def test_a_metric_that_raises_is_a_500() -> None:
    """And the server goes on."""

    class Broken(Collector):
        def collect(self) -> list[GaugeMetricFamily]:
            raise RuntimeError("no figures")

    registry = CollectorRegistry(auto_describe=False)
    registry.register(Broken())
    async with serving(registry=registry) as server:
        status, _, body = await get(server, "/metrics")
        assert (status, body) == (500, b"500 Internal Server Error\n")
        assert (await get(server, "/health"))[0] == 200


async def test_head_gets_the_same_without_the_body() -> None:
    """Length and status included."""
    async with serving(checks={"bad": bad}) as server:
        status, headers, body = await get(server, "/ready", "HEAD")
        _, _, full = await get(server, "/ready")
    assert (status, body) == (503, b"")
    assert headers["content-length"] == str(len(full))


@pytest.mark.parametrize("path", ["/", "/healthz", "/health/", "/../health", "/%2e", "/ready%00"])
async def test_other_paths_are_not_found(path: str) -> None:
    """Nothing else is served."""
    async with serving() as server:
        assert (await get(server, path))[0] == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "get", ""])
async def test_other_methods_are_not_allowed(method: str) -> None:
    """The answer names those that are."""
    async with serving() as server:
        status, headers, _ = await get(server, "/health", method)
    assert status == 405
    assert headers["allow"] == "get, head"


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"\r\n\r\n", 400),
        (b"GET\r\n\r\n", 400),
        (b"GET /health\r\n\r\n", 400),
        (b"GET health HTTP/1.1\r\n\r\n", 400),
        (b"GET http://x/health HTTP/1.1\r\n\r\n", 400),
        (b"GET /health HTTP/1.1 x\r\n\r\n", 505),
        (b"GET /health HTTP/2.0\r\n\r\n", 505),
        (b"\x16\x03\x01\x00\xff\r\n\r\n", 400),
        (b"GET /\xff HTTP/1.1\r\n\r\n", 404),
        (b"GET /health HTTP/1.1\r\nX: " + b"x" * 8192 + b"\r\n\r\n", 431),
        (b"GET /" + b"x" * 9000 + b" HTTP/1.1\r\n\r\n", 431),
        (b"x" * 9000, 431),
    ],
)
async def test_a_malformed_or_oversized_request_gets_its_status(data: bytes, status: int) -> None:
    """Plain answers, no crash."""
    async with serving() as server:
        assert (await exchange(server, data)).startswith(f"HTTP/1.1 {status} ".encode())


async def test_the_largest_request_is_answered() -> None:
    """8 KiB of head, to the byte before the limit."""
    head = b"GET /health HTTP/1.1\r\nX: "
    async with serving() as server:
        assert b" 200 OK" in await exchange(server, head + b"x" * (8192 - len(head)) + b"\r\n\r\n")


async def test_a_client_that_sends_nothing_is_answered_408() -> None:
    """A held connection costs its place for a bounded time only."""
    async with serving(read_timeout_s=0.05) as server:
        assert (await exchange(server, b"GET /health HTT", end=False)).startswith(b"HTTP/1.1 408 ")


async def test_a_client_that_goes_away_is_forgotten() -> None:
    """Before, within and after its request."""
    async with serving() as server:
        for data in (b"", b"GET /hea"):
            assert await exchange(server, data) == b""
        reader, writer = await asyncio.open_connection(server.host, server.port)
        writer.write(b"GET /metrics HTTP/1.1\r\n\r\n")
        writer.transport.abort()
        assert await reader.read() == b""
        assert (await get(server, "/health"))[0] == 200


async def test_a_client_that_does_not_read_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """A response larger than the socket's buffers doesn't hold its task for ever."""
    monkeypatch.setattr("toolmesh_telemetry.health_server.WRITE_TIMEOUT_S", 0.1)
    metrics = Metrics()
    gauge = metrics.gauge("wide", "Many series.", ["name"])
    for n in range(20):
        gauge.labels(f"{n}" + "x" * 1_000_000).set(1)
    async with serving(registry=metrics.registry, max_connections=1) as server:
        with socket.create_connection((server.host, server.port)) as lazy:
            lazy.setblocking(False)
            lazy.send(b"GET /metrics HTTP/1.1\r\n\r\n")
            await room_again(server)


async def test_connections_beyond_the_limit_are_turned_away() -> None:
    """Those within it are served as soon as there is room again."""
    started = asyncio.Event()
    release = asyncio.Event()

    async def slow() -> CheckResult:
        started.set()
        await release.wait()
        return CheckResult(ok=True)

    async with serving(checks={"slow": slow}, max_connections=1, check_timeout_s=LIMIT_S) as server:
        async with asyncio.TaskGroup() as group:
            first = group.create_task(get(server, "/ready"))
            await started.wait()
            assert (await get(server, "/health"))[0] == 503
            release.set()
        assert first.result()[0] == 200
        await room_again(server)


async def test_leaving_the_block_ends_running_requests_and_frees_the_port() -> None:
    """A hanging check doesn't hold up the shutdown."""
    started = asyncio.Event()

    async def stuck() -> CheckResult:
        started.set()
        await asyncio.Event().wait()
        raise AssertionError

    async with asyncio.TaskGroup() as group:
        async with serving(checks={"stuck": stuck}, check_timeout_s=LIMIT_S) as server:
            pending = group.create_task(exchange(server, b"GET /ready HTTP/1.1\r\n\r\n", end=False))
            await started.wait()
        with contextlib.suppress(ConnectionError):
            assert await pending == b""
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection(server.host, server.port)
    async with serve_health("127.0.0.1", server.port, {}, CollectorRegistry()) as again:
        assert again.port == server.port


async def test_an_error_in_the_block_comes_out_as_itself() -> None:
    """Not wrapped into a group; a cancellation stays one, too."""
    with pytest.raises(KeyError, match="own"):
        async with serving():
            raise KeyError("own")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05), serving():
            await asyncio.Event().wait()


async def test_a_taken_port_is_a_typed_error() -> None:
    """It names the address and says what to do."""
    async with serving() as server:
        with pytest.raises(HealthServerError, match=f"port {server.port} .*choose another port") as caught:
            async with serve_health("127.0.0.1", server.port, {}, CollectorRegistry()):
                raise AssertionError
    assert caught.value.code == "HEALTH_PORT_UNAVAILABLE"
    assert str(server.port) in caught.value.message


@pytest.mark.parametrize(("host", "port"), [("127.0.0.1", 70_000), ("256.0.0.1", 0), ("a..b", 0)])
async def test_an_impossible_address_is_a_typed_error(host: str, port: int) -> None:
    """Never a raw error of the system."""
    with pytest.raises(HealthServerError, match="can't listen"):
        async with serve_health(host, port, {}, CollectorRegistry()):
            raise AssertionError


def test_the_url_of_a_server() -> None:
    """IPv6 addresses are bracketed."""
    assert HealthServer("127.0.0.1", 8080).url == "http://127.0.0.1:8080"
    assert HealthServer("::1", 8080).url == "http://[::1]:8080"


@settings(max_examples=50)
@given(st.binary(max_size=300))
def test_no_bytes_crash_the_server(data: bytes) -> None:
    """Whatever is sent, the next request is answered."""

    async def attempt() -> None:
        async with serving(read_timeout_s=1) as server:
            await exchange(server, data)
            assert (await get(server, "/health"))[0] == 200

    asyncio.run(attempt())
