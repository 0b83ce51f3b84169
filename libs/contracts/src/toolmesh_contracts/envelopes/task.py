"""Tasks of agents, their events, and schedules that make tasks."""

from typing import Annotated

import msgspec

from toolmesh_contracts.envelopes.invocation import Invocation
from toolmesh_contracts.envelopes.values import Identifier, Milliseconds
from toolmesh_contracts.errors import ErrorCode

__all__ = ["Answer", "DeadLetter", "Schedule", "Task", "TaskEvent"]


class Answer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a person says to a call that waits for one."""

    call: str
    """The call's name in its task."""
    approved: bool = False
    text: str = ""


class Task(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Body of `tm.<ns>.task.<agent>`: work for an agent. The token in the header says for whom."""

    id: Identifier
    agent: str
    text: str = ""
    """What is asked; only the first message of a task has it."""
    follows: str = ""
    """Id of the task before it in its conversation."""
    parent: str = ""
    """Id of the task whose agent asks."""
    parent_agent: str = ""
    """That agent, which waits for the end."""
    depth: Annotated[int, msgspec.Meta(ge=0)] = 0
    """How many agents asked one another before it."""
    deadline_ms: Milliseconds = 0
    """Unix time in milliseconds; 0 for none."""
    wake: bool = False
    """The task waits, and should look whether what it waits for has come."""
    answer: Answer | None = None
    """What it may wait for."""


class TaskEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Body of `tm.<ns>.event.<task>`: append-only; also holds the task's checkpoints."""

    task: Identifier
    seq: Annotated[int, msgspec.Meta(ge=1)]
    """Number in its task, without a gap."""
    at_ms: Milliseconds
    executor: str = ""
    record: msgspec.Raw
    """JSON object whose `kind` says what happened, such as `turn.started`, `text.delta` or `task.completed`."""


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
