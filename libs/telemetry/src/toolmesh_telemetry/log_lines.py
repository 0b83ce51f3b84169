"""One log record as one line of JSON."""

import json
import logging
import traceback
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

import structlog.contextvars

from toolmesh_telemetry.redaction import Redactor
from toolmesh_telemetry.tracing import trace_id_var

MAX_FRAMES: Final = 30
# Where a structured record keeps its fields on the way through the standard library's logging.
FIELDS_ATTRIBUTE: Final = "toolmesh_fields"
_RESERVED: Final = frozenset(
    {"ts", "level", "logger", "event", "service", "instance", "trace_id", "exception", "stack"}
)


class LogLines:
    """Turns records of the standard library's logging, structured or not, into JSON lines.

    Every line has ts (UTC), level, logger, event, service, instance and, within a call, trace_id; then the record's own
    fields. A field that would hide one of these is written with `field_` in front.
    """

    def __init__(self, service: str, instance: str, redactor: Redactor) -> None:
        self._service = service
        self._instance = instance
        self._redactor = redactor

    def line(self, record: logging.LogRecord) -> str:
        """Return the line, without its end. Secrets are hidden and everything is bounded."""
        line = self._head(record)
        fields = {**structlog.contextvars.get_contextvars(), **getattr(record, FIELDS_ATTRIBUTE, {})}
        cleaned: dict[str, Any] = self._redactor.value(fields)
        for name, value in cleaned.items():
            line[f"field_{name}" if name in _RESERVED else name] = value
        if record.exc_info and record.exc_info[1] is not None:
            line["exception"] = self._exception(record.exc_info[1])
        if record.stack_info:
            line["stack"] = self._redactor.clip(record.stack_info)
        return json.dumps(line, separators=(",", ":"))

    def broken(self, record: logging.LogRecord, error: Exception) -> str:
        """Return a line for a record that can't be turned into one: it says so, and nothing of its content."""
        return json.dumps(
            {**self._origin(record), "event": "log record can't be written", "error": type(error).__name__},
            separators=(",", ":"),
        )

    def _head(self, record: logging.LogRecord) -> dict[str, Any]:
        head = {**self._origin(record), "event": self._redactor.clip(_message(record))}
        trace_id = trace_id_var.get()
        if trace_id is not None:
            head["trace_id"] = trace_id
        return head

    def _origin(self, record: logging.LogRecord) -> dict[str, Any]:
        return {
            "ts": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="microseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "service": self._service,
            "instance": self._instance,
        }

    def _exception(self, error: BaseException) -> Mapping[str, str]:
        # From the error itself, not its printed traceback only: type and message are what people search for.
        lines = traceback.format_exception(type(error), error, error.__traceback__, limit=-MAX_FRAMES)
        return {
            "type": type(error).__qualname__,
            "message": self._redactor.clip(_text_of(error)),
            "traceback": self._redactor.clip("".join(lines)),
        }


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except Exception:  # noqa: BLE001 - arguments that don't fit the message must not lose it
        return f"{record.msg} (with arguments that don't fit)"


def _text_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - a foreign __str__ can raise anything
        return "[unprintable]"
