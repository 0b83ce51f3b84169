"""Tasks of agents, their events, and schedules that make tasks."""

from typing import Annotated

import msgspec

from toolmesh_contracts.envelopes.invocation import Invocation
from toolmesh_contracts.envelopes.values import Caller, Identifier, Milliseconds, RawJson
from toolmesh_contracts.errors import ErrorCode

__all__ = ["DeadLetter", "Schedule", "Task", "TaskEvent"]


class Task(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Body of `tm.<ns>.task.<agent>`: work for an agent. The token travels in the header."""

    id: Identifier
    agent: str
    caller: Caller
    text: str = ""
    parts: RawJson = msgspec.UNSET
    """JSON list of further content, such as artifact references."""
    parent_task: str = ""
    root_task: str = ""
    call_depth: Annotated[int, msgspec.Meta(ge=0)] = 0
    resume: RawJson = msgspec.UNSET
    """JSON: the answer, approval or sign-in that a paused task waits for."""
    deadline_ms: Milliseconds = 0
    """Unix time in milliseconds; 0 is the agent's default."""


class TaskEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Body of `tm.<ns>.event.<task>`: append-only; also holds the task's checkpoints."""

    task: Identifier
    seq: Annotated[int, msgspec.Meta(ge=1)]
    kind: str
    """Such as `turn.started`, `text.delta`, `tool.result` or `task.completed`."""
    at_ms: Milliseconds
    executor: str = ""
    data: RawJson = msgspec.UNSET


class Schedule(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Body of `tm.<ns>.schedule.<id>`: what task to make when it fires."""

    id: Identifier
    owner: str
    agent: str
    message: str
    expression: str
    """A server schedule: `@at <RFC 3339>`, `@every 5m` or six cron fields."""
    timezone: str = "UTC"
    name: str = ""
    enabled: bool = True
    timeout_ms: Milliseconds = 3_600_000


class DeadLetter(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Body of `tm.<ns>.dead.<pool>.<invocation>`: a message nobody will run, with the reason."""

    pool: str
    subject: str
    stream_sequence: Annotated[int, msgspec.Meta(ge=0)]
    code: ErrorCode
    reason: str
    at_ms: Milliseconds
    worker: str = ""
    invocation: Invocation | None = None
    """The call, if it could be decoded; its sealed parts stay sealed."""
    body: bytes | None = None
    """The message as it came, if it could not."""
    headers: dict[str, str] = {}
    """Its headers, without the token and the signature."""
