"""The call's output folder: files under safe names, and an index that keeps what a bare file cannot say."""

# os.path and open instead of pathlib: a tool process pays for every import, and pathlib's is 3 ms.
# ruff: noqa: PTH103, PTH118, PTH120, PTH122, PTH123
from __future__ import annotations

import os

from .atomic_file import write_atomically

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

INDEX_NAME = ".toolmesh-artifacts.json"


def safe_name(name: object) -> str:
    """Return a file name that stays inside the output folder, sub-folders allowed.

    Raises:
        ValueError: Empty, absolute, with `..` anywhere, with a NUL, or the index's own name.
    """
    text = str(name) if name is not None else ""
    if not text.strip() or text.endswith("/"):
        raise ValueError(f"{text!r} is not a file name")
    if ".." in text or text.startswith(("/", "\\")) or "\0" in text:
        raise ValueError(f"{text!r} leaves the output folder; use a relative name without '..'")
    if os.path.normpath(text) in (".", INDEX_NAME):
        raise ValueError(f"{text!r} is a reserved name")
    return os.path.normpath(text)


class OutputFolder:
    """Where a call's artifacts go; made on the first write.

    Args:
        path: The folder, as this process sees it.
    """

    __slots__ = ("_index", "_written", "path")

    def __init__(self, path: str) -> None:
        self.path = path
        self._index: dict[str, dict[str, Any]] = {}
        self._written: set[str] = set()

    def save(self, name: object, content: bytes, *, replace: bool = True, **details: Any) -> str:
        """Write one file and remember its details (mime_type, description, metadata, ...); return its path.

        Args:
            name: Relative file name.
            content: The bytes.
            replace: False keeps both of two files with one name by numbering the second.
            **details: What the index keeps; None is left out.

        Raises:
            ValueError: The name leaves the folder.
            OSError: The file cannot be written.
        """
        name = safe_name(name)
        if not replace:
            name = self._free_name(name)
        target = os.path.join(self.path, name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "wb") as file:
            file.write(content)
        self._written.add(name)
        self._index[name] = {key: value for key, value in details.items() if value is not None}
        return target

    def names(self) -> list[str]:
        """Return the files at the folder's top level, without the index."""
        try:
            with os.scandir(self.path) as entries:
                return sorted(entry.name for entry in entries if entry.is_file() and entry.name != INDEX_NAME)
        except FileNotFoundError:
            return []

    def write_index(self) -> None:
        """Write the index of what was saved; a host that knows nothing of it sees files as ever."""
        if self._index:
            from .plain_json import encode

            text, _notes = encode(self._index)
            write_atomically(os.path.join(self.path, INDEX_NAME), text.encode("ascii"))

    def _free_name(self, name: str) -> str:
        stem, extension = os.path.splitext(name)
        number, free = 2, name
        while free in self._written or os.path.lexists(os.path.join(self.path, free)):
            free, number = f"{stem}-{number}{extension}", number + 1
        return free
