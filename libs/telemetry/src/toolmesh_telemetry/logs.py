"""Logging set-up: JSON lines on stderr, for our own loggers and everyone else's."""

import contextlib
import logging
import sys
from collections.abc import MutableMapping
from types import TracebackType
from typing import Any, Final, Self, TextIO

import structlog

from toolmesh_telemetry.log_lines import FIELDS_ATTRIBUTE, LogLines
from toolmesh_telemetry.redaction import Redactor

_PASSED_ON: Final = ("exc_info", "stack_info", "stacklevel")


def get_logger(name: str) -> structlog.stdlib.BoundLogger:
    """Return a logger that takes fields: `log.info("call done", tool=name, wall_ms=12)`.

    It works before `configure_logging`, too: then the standard library's own rules hold.
    """
    return structlog.wrap_logger(  # type: ignore[no-any-return]
        logging.getLogger(name),
        processors=[structlog.stdlib.filter_by_level, _to_record],
        wrapper_class=structlog.stdlib.BoundLogger,
        context_class=dict,
        cache_logger_on_first_use=True,
    )


def configure_logging(
    service: str,
    instance: str,
    *,
    stream: TextIO | None = None,
    redactor: Redactor | None = None,
    level: int | str = logging.INFO,
) -> "LoggingSetup":
    """Send every log record of this process as one JSON line to `stream`.

    A second call replaces the first one's set-up. Writing a record never raises.

    Args:
        service: Name of the service, on every line.
        instance: Name of this process among those of the service, on every line.
        stream: Where to; None is whatever `sys.stderr` is when a line is written.
        redactor: Hides secrets; None is one that knows only secrets by name and looks.
        level: Lowest level that is written.

    Returns:
        The set-up; leaving it as a context manager, or its `restore`, brings back what was before.
    """
    handler = _JsonLinesHandler(LogLines(service, instance, redactor or Redactor()), stream)
    root = logging.getLogger()
    setup = LoggingSetup(handler, tuple(root.handlers), root.level)
    root.handlers[:] = [handler]
    root.setLevel(level)
    return setup


class LoggingSetup(contextlib.AbstractContextManager["LoggingSetup"]):
    """What `configure_logging` did, to be undone."""

    def __init__(self, handler: logging.Handler, before: tuple[logging.Handler, ...], level: int) -> None:
        self._handler = handler
        self._before = before
        self._level = level

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.restore()

    def restore(self) -> None:
        """Bring back the handlers and level from before; nothing happens when this set-up is no longer in place."""
        root = logging.getLogger()
        if self._handler in root.handlers:
            root.handlers[:] = self._before
            root.setLevel(self._level)


class _JsonLinesHandler(logging.Handler):
    """Writes whole lines; a stream that is gone loses them silently, because there is nowhere left to complain."""

    def __init__(self, lines: LogLines, stream: TextIO | None) -> None:
        super().__init__()
        self._lines = lines
        self._stream = stream

    def emit(self, record: logging.LogRecord) -> None:
        try:
            line = self._lines.line(record)
        except Exception as error:  # noqa: BLE001 - logging must never be what fails
            line = self._lines.broken(record, error)
        with contextlib.suppress(OSError, ValueError):
            stream = sys.stderr if self._stream is None else self._stream
            # A process without a console has no sys.stderr.
            if stream is not None:
                stream.write(line + "\n")
                stream.flush()


def _to_record(
    _logger: logging.Logger, _method: str, event_dict: MutableMapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Hand the fields through the standard library's logging in one attribute, where they can't clash with its own."""
    passed_on = {name: event_dict.pop(name) for name in _PASSED_ON if name in event_dict}
    message = (event_dict.pop("event", ""), *event_dict.pop("positional_args", ()))
    return message, {**passed_on, "extra": {FIELDS_ATTRIBUTE: dict(event_dict)}}
