"""Headers of messages on the broker."""

from typing import Final

__all__ = [
    "AGENT",
    "BODY_SHA256",
    "DEADLINE",
    "EXPECTED_LAST_SUBJECT_SEQUENCE",
    "MESSAGE_ID",
    "MESSAGE_TTL",
    "REQUIRED_SCOPES",
    "SCHEMA",
    "SIGNATURE",
    "TASK",
    "TOKEN",
    "TOOL",
    "TRACEPARENT",
]

MESSAGE_ID: Final = "Nats-Msg-Id"
"""The invocation's id: the broker drops a second publish of it."""
MESSAGE_TTL: Final = "Nats-TTL"
"""Whole seconds, at least 1, until the broker drops the message."""
EXPECTED_LAST_SUBJECT_SEQUENCE: Final = "Nats-Expected-Last-Subject-Sequence"
"""Compare-and-set: the write is refused unless the key's last sequence is this."""
TRACEPARENT: Final = "traceparent"
"""W3C Trace Context."""
SCHEMA: Final = "Tm-Schema"
"""Schema name and major of the body, such as `invocation/1`."""
TOKEN: Final = "Tm-Token"  # noqa: S105 - the header's name
"""Who calls, with which scopes."""
SIGNATURE: Final = "Tm-Signature"
"""The executor's signature over the call."""
TOOL: Final = "Tm-Tool"
"""The tool's name, also in the body."""
DEADLINE: Final = "Tm-Deadline"
"""Unix time in milliseconds, also in the body: the signature covers it, and is checked before the body is read."""
AGENT: Final = "Tm-Agent"
"""The agent for which a call is made, also in the body: see DEADLINE."""
BODY_SHA256: Final = "Tm-Body-Sha256"
"""Of the call that a request is about, whose signature covers it: 64 hexadecimal digits."""
REQUIRED_SCOPES: Final = "Tm-Scopes"
"""The entry's required scopes, separated by spaces, also in the body: see DEADLINE."""
TASK: Final = "Tm-Task"
"""The task's id, also in the body: whoever sent one without a right is told in the task's events."""
