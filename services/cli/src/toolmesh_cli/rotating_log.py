"""One child's log file: private, started anew at every start, never larger than its limit."""

import os
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Final, Self

__all__ = ["RotatingLog"]

MAX_BYTES: Final = 10_000_000


class RotatingLog:
    """Appends lines to `path`; the file before it is kept as `path.1`.

    Args:
        path: The log file; its folder exists.
        max_bytes: Size at which the file is moved aside.
    """

    def __init__(self, path: Path, max_bytes: int = MAX_BYTES) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._file = self._fresh()
        self._size = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def write(self, line: bytes) -> None:
        """Append one line, given without its line end."""
        if self._size + len(line) >= self._max_bytes:
            self._file.close()
            self._file = self._fresh()
            self._size = 0
        self._size += self._file.write(line + b"\n")

    def _fresh(self) -> BinaryIO:
        if self._path.exists():
            self._path.replace(self._path.with_name(self._path.name + ".1"))
        descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        return os.fdopen(descriptor, "wb", buffering=0)
