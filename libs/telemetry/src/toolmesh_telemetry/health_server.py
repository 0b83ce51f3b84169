"""Health endpoints of one process: /health, /ready and /metrics over plain HTTP/1.1."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from toolmesh_telemetry.health_checks import CHECK_TIMEOUT_S, Check, run_checks
from toolmesh_telemetry.http_request import MAX_HEAD_BYTES, HttpError, Request, Response, read_request
from toolmesh_telemetry.logs import get_logger
from toolmesh_telemetry.redaction import Redactor

MAX_CONNECTIONS: Final = 64
READ_TIMEOUT_S: Final = 5.0
WRITE_TIMEOUT_S: Final = 5.0

_log = get_logger(__name__)


class HealthServerError(Exception):
    """Raised when the endpoints can't be opened.

    Attributes:
        code: Stable word for programs.
        message: For people.
    """

    code = "HEALTH_PORT_UNAVAILABLE"

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


@dataclass(frozen=True)
class HealthServer:
    """The open endpoints.

    Attributes:
        host: Address it listens on.
        port: Port it listens on, the chosen one where 0 was asked for.
    """

    host: str
    port: int

    @property
    def url(self) -> str:
        """Base URL, such as `http://127.0.0.1:8080`."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"


@dataclass(frozen=True, kw_only=True)
class _Endpoints:
    ready_checks: Mapping[str, Check]
    live_checks: Mapping[str, Check]
    registry: CollectorRegistry
    redactor: Redactor
    check_timeout_s: float

    async def respond(self, request: Request) -> Response:
        if request.path == "/health":
            return await self._checked("alive", self.live_checks)
        if request.path == "/ready":
            return await self._checked("ready", self.ready_checks)
        if request.path == "/metrics":
            return Response(HTTPStatus.OK, CONTENT_TYPE_PLAIN_0_0_4, generate_latest(self.registry))
        return Response.bare(HTTPStatus.NOT_FOUND)

    async def _checked(self, verdict: str, checks: Mapping[str, Check]) -> Response:
        results = await run_checks(checks, self.redactor, self.check_timeout_s)
        good = all(result["ok"] for result in results.values())
        content: dict[str, Any] = {verdict: good, "checks": results}
        return Response.json(HTTPStatus.OK if good else HTTPStatus.SERVICE_UNAVAILABLE, content)


@contextlib.asynccontextmanager
async def serve_health(
    host: str,
    port: int,
    checks: Mapping[str, Check],
    registry: CollectorRegistry,
    *,
    live_checks: Mapping[str, Check] | None = None,
    redactor: Redactor | None = None,
    check_timeout_s: float = CHECK_TIMEOUT_S,
    read_timeout_s: float = READ_TIMEOUT_S,
    max_connections: int = MAX_CONNECTIONS,
) -> AsyncIterator[HealthServer]:
    """Serve the endpoints within the block.

    `/ready` answers 200 when every one of `checks` says yes, else 503, as JSON
    `{"ready": bool, "checks": {name: {"ok": bool, "detail": text}}}`. `/health` does the same (`alive`) for
    `live_checks`: a failing one asks for a restart, so a broker that is away belongs into `checks`. `/metrics` shows
    `registry` as Prometheus text. Only GET and HEAD, one request per connection.

    Args:
        host: Address to listen on; use loopback unless something outside must reach it.
        port: Port to listen on; 0 lets the system choose.
        checks: Readiness checks by name.
        registry: Metrics to show.
        live_checks: Liveness checks by name; None is "a process that answers is alive".
        redactor: Applied to what failing checks say.
        check_timeout_s: Seconds that each check may take.
        read_timeout_s: Seconds that a client has to send its request.
        max_connections: Connections served at once; more are answered 503 at once.

    Raises:
        HealthServerError: When the address can't be listened on.
    """
    endpoints = _Endpoints(
        ready_checks=checks,
        live_checks=live_checks or {},
        registry=registry,
        redactor=redactor or Redactor(),
        check_timeout_s=check_timeout_s,
    )
    failure: BaseException | None = None
    async with asyncio.TaskGroup() as group:
        connections = _Connections(endpoints, group, read_timeout_s, max_connections)
        try:
            async with _listening(connections, host, port) as server:
                yield server
        except BaseException as error:  # noqa: BLE001 - raised again below, where the group can't wrap it
            failure = error
        finally:
            connections.cancel()
    if failure is not None:
        raise failure


@dataclass
class _Connections:
    endpoints: _Endpoints
    group: asyncio.TaskGroup
    read_timeout_s: float
    most: int
    tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self.tasks) >= self.most:
            # Written without waiting: the few bytes fit into any socket's buffer.
            writer.write(Response.bare(HTTPStatus.SERVICE_UNAVAILABLE).encode(with_body=True))
            writer.close()
            return
        task = self.group.create_task(self._serve(reader, writer))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    def cancel(self) -> None:
        for task in self.tasks:
            task.cancel()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            response, with_body = await self._answer(reader)
            async with asyncio.timeout(WRITE_TIMEOUT_S):
                writer.write(response.encode(with_body=with_body))
                await writer.drain()
                writer.close()
                await writer.wait_closed()
        except (OSError, asyncio.IncompleteReadError):
            # The client went away or was too slow (TimeoutError is an OSError); there is nobody to tell.
            pass
        finally:
            writer.transport.abort()

    async def _answer(self, reader: asyncio.StreamReader) -> tuple[Response, bool]:
        try:
            async with asyncio.timeout(self.read_timeout_s):
                request = await read_request(reader)
        except HttpError as error:
            return Response.bare(error.status), True
        except TimeoutError:
            return Response.bare(HTTPStatus.REQUEST_TIMEOUT), True
        try:
            return await self.endpoints.respond(request), request.method != "HEAD"
        except Exception:  # noqa: BLE001 - top handler: a metric that raises must not take the service down
            _log.exception("health endpoint failed", path=request.path)
            return Response.bare(HTTPStatus.INTERNAL_SERVER_ERROR), request.method != "HEAD"


@contextlib.asynccontextmanager
async def _listening(connections: _Connections, host: str, port: int) -> AsyncIterator[HealthServer]:
    try:
        server = await asyncio.start_server(connections.accept, host, port, limit=MAX_HEAD_BYTES)
    except (OSError, OverflowError, UnicodeError) as error:
        raise HealthServerError(
            f"health endpoints can't listen on {host} port {port} ({error}); choose another port, or 0 for a free one"
        ) from error
    try:
        yield HealthServer(host, server.sockets[0].getsockname()[1])
    finally:
        server.close()
