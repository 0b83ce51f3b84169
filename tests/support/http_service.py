"""A small HTTP service on loopback that remembers what it was asked."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass
class Request:
    """One request as it came."""

    method: str
    target: str
    headers: dict[str, str]
    """Names in lower case."""
    body: bytes


@dataclass
class HttpService:
    """Where it is, and what it was asked."""

    port: int
    requests: list[Request] = field(default_factory=list)

    def url(self, path: str, host: str = "127.0.0.1") -> str:
        """The URL of a path."""
        return f"http://{host}:{self.port}{path}"


@asynccontextmanager
async def http_service(answers: Mapping[str, bytes]) -> AsyncIterator[HttpService]:
    """Answer each path with raw bytes of HTTP; one with nothing never answers."""
    service = HttpService(0)
    ended = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, target, _ = head[0].split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        service.requests.append(Request(method, target, headers, body))
        answer = answers[target.partition("?")[0]]
        if answer:
            writer.write(answer)
        else:
            await ended.wait()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    service.port = server.sockets[0].getsockname()[1]
    async with server:
        yield service
        ended.set()


def answer(body: bytes, status: str = "200 OK", *headers: str) -> bytes:
    """Raw bytes of an answer."""
    lines = [f"HTTP/1.1 {status}", f"content-length: {len(body)}", "connection: close", *headers, "", ""]
    return "\r\n".join(lines).encode() + body
