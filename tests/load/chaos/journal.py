"""Journals: files of JSON lines that several processes append to, each line in one write, so that a kill tears none."""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["Journal", "JournalReader", "read_journal"]


class Journal:
    """Appends. What is written has left the process, whatever happens to it next; it is not synced to the disk."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)

    def write(self, event: str, **fields: Any) -> None:
        """Append a line: the event, when (Unix time in seconds), and the fields."""
        line = json.dumps({"event": event, "at": time.time(), **fields}) + "\n"
        os.write(self._descriptor, line.encode())

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)


class JournalReader:
    """Reads what was appended since it last looked."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0

    def news(self) -> Iterator[dict[str, Any]]:
        """Yield the new whole lines."""
        for line in self.lines():
            yield json.loads(line)

    def lines(self) -> list[bytes]:
        """Return the new whole lines as they are."""
        if not self._path.exists():
            return []
        with self._path.open("rb") as file:
            file.seek(self._offset)
            data = file.read()
        whole = data[: data.rfind(b"\n") + 1]
        self._offset += len(whole)
        return whole.splitlines()


def read_journal(path: Path) -> list[dict[str, Any]]:
    """Return all whole lines."""
    return list(JournalReader(path).news())
