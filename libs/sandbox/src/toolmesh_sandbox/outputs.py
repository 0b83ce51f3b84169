"""Collect what a tool wrote, as from an enemy: no link is followed, and nothing is read but ordinary files."""

import dataclasses
import itertools
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from toolmesh_sandbox.errors import OutputRefusedError, OutputTooLargeError

_CHUNK = 1024 * 1024
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_FOLDER = os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC


@dataclasses.dataclass(frozen=True, kw_only=True)
class OutputLimits:
    """Bounds on what is taken from one folder.

    Attributes:
        files: files that are taken; each holds a descriptor until the collection is closed.
        file_bytes: largest single file.
        total_bytes: all files together.
        depth: levels of sub-folders.
        entries: directory entries that are looked at, over all folders.
        name_bytes: length of a relative name in UTF-8.
    """

    files: int = 100
    file_bytes: int = 256 * 1024 * 1024
    total_bytes: int = 512 * 1024 * 1024
    depth: int = 4
    entries: int = 10_000
    name_bytes: int = 255


class OutputFile:
    """A file that was taken: the one the collector opened, whatever its name stands for by now.

    Attributes:
        name: path relative to the folder, with `/`.
        size: bytes, as the collector saw it.
    """

    def __init__(self, name: str, size: int, descriptor: int) -> None:
        self.name = name
        self.size = size
        self._descriptor = descriptor

    def open(self) -> BinaryIO:
        """The content from its beginning; to be read by one reader at a time."""
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        return os.fdopen(os.dup(self._descriptor), "rb")

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._descriptor)


class Collected:
    """What was taken and what was refused, with the reason. A context manager, as the files are held open.

    Attributes:
        files: in the order of their names.
        refused: pairs of name and reason; at most `OutputLimits.entries`.
    """

    def __init__(self, files: tuple[OutputFile, ...], refused: tuple[tuple[str, str], ...]) -> None:
        self.files = files
        self.refused = refused

    def __enter__(self) -> "Collected":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of all files."""
        for file in self.files:
            file.close()


def collect(folder: Path | int, limits: OutputLimits | None = None) -> Collected:
    """Take the regular files below a folder. Call it once every process of the tool is gone.

    Links, FIFOs, sockets, devices, hard-linked and unreadable files, odd names and what goes beyond the limits are
    refused one by one; the rest is kept. A folder that is gone or has become something else is one refusal named `.`.

    Args:
        folder: path of the folder, or a descriptor of it that was opened before the tool ran.
        limits: bounds; None takes the defaults.
    """
    collector = _Collector(limits or OutputLimits())
    try:
        with _descriptor(_open_folder(folder)) as opened:
            collector.walk(opened)
    except OSError as error:
        collector.refused.append((".", f"not a folder: {error.strerror}"))
    files = tuple(sorted(collector.files, key=lambda file: file.name))
    return Collected(files, tuple(collector.refused))


def read_file(folder: Path | int, name: str, cap: int) -> bytes:
    """Read one file directly below a folder, with the same care.

    Args:
        folder: path or descriptor of the folder.
        name: plain name, without a slash.
        cap: most bytes that are accepted.

    Raises:
        OutputTooLargeError: it is larger than the cap.
        OutputRefusedError: it is missing, or no ordinary file.
    """
    if "/" in name or name in {"", ".", ".."}:
        raise OutputRefusedError(f"{name!r} is not the plain name of a file")
    try:
        with (
            _descriptor(_open_folder(folder)) as parent,
            _descriptor(os.open(name, _FILE, dir_fd=parent)) as opened,
        ):
            found = os.fstat(opened)
            if reason := _fault(found, cap):
                is_sound_but_large = not _fault(found, found.st_size)
                refusal = OutputTooLargeError if is_sound_but_large else OutputRefusedError
                raise refusal(f"{name} is refused: {reason}")
            data = _read(opened, cap + 1)
    except OSError as error:
        raise OutputRefusedError(f"{name} can't be read: {error.strerror}") from error
    if len(data) > cap:
        raise OutputTooLargeError(f"{name} is refused: larger than {cap} bytes")
    return data


def _read(descriptor: int, count: int) -> bytes:
    data = bytearray()
    while len(data) < count and (piece := os.read(descriptor, min(_CHUNK, count - len(data)))):
        data += piece
    return bytes(data)


def _open_folder(folder: Path | int) -> int:
    return os.open(folder, _FOLDER) if isinstance(folder, Path) else os.dup(folder)


@contextmanager
def _descriptor(number: int) -> Iterator[int]:
    try:
        yield number
    finally:
        os.close(number)


def _fault(found: os.stat_result, cap: int) -> str:
    if not stat.S_ISREG(found.st_mode):
        return "not a regular file"
    if found.st_nlink != 1:
        return "it has more than one name (hard link)"
    if found.st_size > cap:
        return f"{found.st_size} bytes, more than {cap}"
    return ""


class _Collector:
    def __init__(self, limits: OutputLimits) -> None:
        self._limits = limits
        self._entries = 0
        self._total = 0
        self.files: list[OutputFile] = []
        self.refused: list[tuple[str, str]] = []

    def walk(self, folder: int, prefix: str = "", depth: int = 0) -> None:
        """Take what lies below an open folder; recursion is bounded by the depth limit."""
        room = self._limits.entries - self._entries
        with os.scandir(folder) as found:
            names = sorted(entry.name for entry in itertools.islice(found, room + 1))
        if len(names) > room:
            self.refused.append((prefix or ".", f"more than {self._limits.entries} entries"))
            del names[room:]
        self._entries += len(names)
        for name in names:
            try:
                reason = self._entry(folder, name, prefix, depth)
            except OSError as error:
                reason = f"unreadable: {error.strerror}"
            if reason:
                self.refused.append((_printable(prefix + name), reason))

    def _entry(self, folder: int, name: str, prefix: str, depth: int) -> str:
        """Take one entry; returns why not, or nothing."""
        path = prefix + name
        if not name.isprintable():
            return "a name that is not printable UTF-8"
        if len(path.encode()) > self._limits.name_bytes:
            return f"a name of more than {self._limits.name_bytes} bytes"
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        if stat.S_ISDIR(mode):
            if depth >= self._limits.depth:
                return f"more than {self._limits.depth} folders deep"
            with _descriptor(os.open(name, _FOLDER, dir_fd=folder)) as deeper:
                self.walk(deeper, f"{path}/", depth + 1)
            return ""
        if not stat.S_ISREG(mode):
            return "not a regular file"
        descriptor = os.open(name, _FILE, dir_fd=folder)
        size = os.fstat(descriptor).st_size
        if reason := _fault(os.fstat(descriptor), self._limits.file_bytes) or self._over(size):
            os.close(descriptor)
            return reason
        self._total += size
        self.files.append(OutputFile(path, size, descriptor))
        return ""

    def _over(self, size: int) -> str:
        if len(self.files) >= self._limits.files:
            return f"more than {self._limits.files} files"
        if self._total + size > self._limits.total_bytes:
            return f"more than {self._limits.total_bytes} bytes in all"
        return ""


def _printable(name: str) -> str:
    text = name.encode("utf-8", "backslashreplace").decode()
    return "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in text)[:512]
