"""The socket: reads HTTP requests, finds the dialect, and does with each what the script says."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Iterable
from types import ModuleType

from toolmesh_scripted_model import anthropic_dialect, openai_dialect
from toolmesh_scripted_model.behaviour import Behaviour, Question, Said, Turn

_DIALECTS: dict[str, ModuleType] = {dialect.PATH: dialect for dialect in (openai_dialect, anthropic_dialect)}


class ScriptedModel:
    """A running server.

    Attributes:
        url: Its address, without a path.
        asked: The questions so far.
    """

    def __init__(self, behaviour: Behaviour) -> None:
        self.url = ""
        self.asked: list[Question] = []
        self._behaviour = behaviour
        self._turns: list[Turn] = []

    @property
    def openai_url(self) -> str:
        """The base address that clients of the OpenAI dialect want."""
        return f"{self.url}/v1"

    def script(self, *turns: Turn) -> None:
        """Say what to do with the next requests; after them the rule holds again."""
        self._turns += turns

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                while await self._one(reader, writer):
                    await writer.drain()
        finally:
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Serve one request; returns whether the connection goes on."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        lines = (line.partition(":") for line in head[1:] if line)
        headers = {name.strip().lower(): value.strip() for name, _, value in lines}
        body = json.loads(await reader.readexactly(int(headers.get("content-length", "0"))))
        dialect = _DIALECTS[head[0].split()[1].partition("?")[0]]
        asked: Question = dialect.question(body, headers)
        self.asked.append(asked)
        turn = self._turns.pop(0) if self._turns else self._behaviour(asked)
        if turn.stall:
            await reader.read()  # until the client has gone away
            return False
        return _send(writer, turn, asked, dialect)


def _send(writer: asyncio.StreamWriter, turn: Turn, asked: Question, dialect: ModuleType) -> bool:
    streamed = asked.stream and turn.status < 400 and turn.raw is None
    kind = "text/event-stream" if streamed else "application/json"
    parts: Iterable[bytes] = [turn.raw or b""]
    if turn.raw is None:
        if turn.status >= 400:
            parts = [dialect.error(turn)]
        else:
            parts = dialect.events(asked, turn) if streamed else [dialect.answer(asked, turn.said)]
    content = b"".join(parts)
    headers = {"content-type": kind, "content-length": str(len(content)), **turn.headers}
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    writer.write(f"HTTP/1.1 {turn.status} Scripted\r\n{lines}\r\n".encode("latin-1"))
    writer.write(content if turn.cut_after is None else content[: turn.cut_after])
    return turn.cut_after is None


def _repeat(asked: Question) -> Turn:
    return Turn(said=Said(text=f"heard {asked.user}"))


@contextlib.asynccontextmanager
async def scripted_model(behaviour: Behaviour = _repeat) -> AsyncIterator[ScriptedModel]:
    """Run a server on a free port of the loopback; without a script it repeats what it hears."""
    model = ScriptedModel(behaviour)
    async with asyncio.TaskGroup() as group:

        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            tasks.add(group.create_task(model.serve(reader, writer)))

        tasks: set[asyncio.Task[None]] = set()
        server = await asyncio.start_server(connected, "127.0.0.1", 0)
        model.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with server:
            yield model
        for task in tasks:
            task.cancel()
