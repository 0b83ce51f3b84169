"""Reads a child's output line by line in bounded memory, and finds in it what `toolmesh up` waits for."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final

import msgspec

__all__ = ["LogLine", "lines_of", "parse_line"]

_CHUNK_BYTES: Final = 65_536
_MAX_LINE_BYTES: Final = 65_536


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line as a person reads it.

    Attributes:
        event: The log line's event, or the whole text if the line is no JSON object.
        level: Such as `error`; empty for plain text.
        detail: The error it tells of, if any.
        health_port: Given by the event `ready`.
        change: Given by the event `toolset change`: what a reading of changed files led to.
    """

    event: str
    level: str = ""
    detail: str = ""
    health_port: int | None = None
    change: str = ""

    @property
    def is_ready(self) -> bool:
        """Whether the child says that it now serves."""
        return self.event == "ready" and bool(self.level)

    def __str__(self) -> str:
        return f"{self.event}: {self.detail}" if self.detail else self.event


async def lines_of(stream: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """Iterate over lines without their ends; the rest of a line over 64 KiB is dropped."""
    pending = bytearray()
    skipping = False
    while chunk := await stream.read(_CHUNK_BYTES):
        *whole, rest = chunk.split(b"\n")
        for part in whole:
            if not skipping:
                yield bytes(pending + part)[:_MAX_LINE_BYTES]
            pending.clear()
            skipping = False
        if not skipping:
            pending += rest
        if len(pending) > _MAX_LINE_BYTES:
            yield bytes(pending[:_MAX_LINE_BYTES])
            pending.clear()
            skipping = True
    if pending:
        yield bytes(pending)


def parse_line(line: bytes) -> LogLine:
    """Read one line of a child's stderr: a JSON log line, or plain text."""
    try:
        fields = msgspec.json.decode(line, type=dict[str, object])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return LogLine(line.decode(errors="replace"))
    port = fields.get("health_port")
    return LogLine(
        event=str(fields.get("event", "")),
        level=str(fields.get("level", "info")),
        detail=str(fields.get("error") or fields.get("message") or ""),
        health_port=port if isinstance(port, int) else None,
        change=str(fields.get("change", "")),
    )
