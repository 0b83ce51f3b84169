"""A few lines of the NATS protocol: a server that says what a test wants and keeps what it was told."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any


@dataclass
class FakeNats:
    """What the fake was told, and how it answers `$JS.API.INFO`.

    Attributes:
        before: Answers to the first questions, in their order; None leaves one without an answer.
    """

    info: dict[str, Any]
    api_info: dict[str, Any]
    before: list[dict[str, Any] | None] = field(default_factory=list)
    port: int = 0
    connects: list[dict[str, Any]] = field(default_factory=list)
    received: bytearray = field(default_factory=bytearray)
    clients: set[asyncio.StreamWriter] = field(default_factory=set)

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    def say(self, line: bytes) -> None:
        """Send a protocol line to all clients."""
        for client in self.clients:
            client.write(line + b"\r\n")

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Speak to one client until it leaves."""
        self.clients.add(writer)
        greeting = {"server_id": "fake", "version": "2.9.0", "headers": True, "max_payload": 1_048_576, **self.info}
        writer.write(b"INFO " + json.dumps(greeting).encode() + b"\r\n")
        with contextlib.suppress(ConnectionError):
            while line := await reader.readline():
                self.received += line
                self.answer(line.decode().split(), writer)
                if line.startswith(b"PUB"):
                    self.received += await reader.readexactly(int(line.split()[-1]) + 2)
        writer.close()

    def answer(self, words: list[str], writer: asyncio.StreamWriter) -> None:
        """React to one protocol line."""
        match words:
            case ["CONNECT", *rest]:
                self.connects.append(json.loads(" ".join(rest)))
            case ["PING"]:
                writer.write(b"PONG\r\n")
            case ["PUB", "$JS.API.INFO", reply, _size]:
                said = self.before.pop(0) if self.before else self.api_info
                if said is None:
                    return
                body = json.dumps(said).encode()
                writer.write(f"MSG {reply} 1 {len(body)}\r\n".encode() + body + b"\r\n")


@contextlib.asynccontextmanager
async def fake_nats(
    info: dict[str, Any] | None = None, api_info: dict[str, Any] | None = None
) -> AsyncIterator[FakeNats]:
    """Listen on loopback inside the block."""
    fake = FakeNats(info or {}, api_info if api_info is not None else {"api": {"level": 5}})
    server = await asyncio.start_server(fake.serve, "127.0.0.1", 0)
    fake.port = server.sockets[0].getsockname()[1]
    try:
        yield fake
    finally:
        server.close()
        for client in fake.clients:
            client.close()
        await server.wait_closed()
