"""What the libraries log in this process: shown as warnings by commands that keep running, dropped by the others."""

import contextlib
import logging
from collections.abc import Iterator

from toolmesh_cli.terminal import Terminal

__all__ = ["drop_library_logs", "library_warnings"]


def drop_library_logs() -> None:
    """Keep log records off stderr, where Python would put them; errors reach a person as exceptions."""
    logging.getLogger().addHandler(logging.NullHandler())


@contextlib.contextmanager
def library_warnings(terminal: Terminal) -> Iterator[None]:
    """Show warnings and errors as lines inside the block."""
    handler = _WarningLines(terminal)
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)


class _WarningLines(logging.Handler):
    def __init__(self, terminal: Terminal) -> None:
        super().__init__(logging.WARNING)
        self._terminal = terminal

    def emit(self, record: logging.LogRecord) -> None:
        self._terminal.warning(record.getMessage())
