"""W3C trace context, level 1: the `traceparent` of a call and the trace id that its log lines carry."""

import contextlib
import re
import secrets
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final, Self

trace_id_var: Final[ContextVar[str | None]] = ContextVar("toolmesh_trace_id", default=None)

_FORMAT: Final = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?", re.DOTALL)
_MAX_CHARS: Final = 512
_SAMPLED: Final = 0x01


@dataclass(frozen=True)
class TraceParent:
    """One position in a trace.

    Attributes:
        trace_id: 32 hexadecimal digits, the same through the whole trace.
        span_id: 16 hexadecimal digits, of the one operation that sends this.
        sampled: Whether the trace is recorded somewhere.
    """

    trace_id: str
    span_id: str
    sampled: bool = True

    def __str__(self) -> str:
        return f"00-{self.trace_id}-{self.span_id}-{_SAMPLED if self.sampled else 0:02x}"

    @classmethod
    def new(cls) -> Self:
        """Start a trace with random ids."""
        return cls(secrets.token_hex(16), secrets.token_hex(8))

    @classmethod
    def parse(cls, header: str | None) -> Self | None:
        """Read a header; None for a missing or invalid one, which the standard wants ignored."""
        match = _FORMAT.fullmatch(header) if header and len(header) <= _MAX_CHARS else None
        if match is None:
            return None
        version, trace_id, span_id, flags, rest = match.groups()
        # A later version may append fields; this one may not.
        if version == "ff" or (version == "00" and rest) or not (trace_id.strip("0") and span_id.strip("0")):
            return None
        return cls(trace_id, span_id, bool(int(flags, 16) & _SAMPLED))

    def child(self) -> Self:
        """Return the position of a new operation within the same trace."""
        return type(self)(self.trace_id, secrets.token_hex(8), self.sampled)


def child(header: str | None) -> TraceParent:
    """Continue the trace of a received header, or start one when it is missing or invalid."""
    parent = TraceParent.parse(header)
    return TraceParent.new() if parent is None else parent.child()


@contextlib.contextmanager
def bound(trace: TraceParent) -> Iterator[TraceParent]:
    """Put the trace's id on every log line within the block, in this task and those it starts."""
    reset = trace_id_var.set(trace.trace_id)
    try:
        yield trace
    finally:
        trace_id_var.reset(reset)
