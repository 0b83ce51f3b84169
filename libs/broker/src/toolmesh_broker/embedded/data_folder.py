"""The embedded server's data folder: private to its user, and used by one server at a time."""

import asyncio
import contextlib
import fcntl
import os
import stat
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolmesh_broker.embedded.errors import DataFolderError, DataFolderInUseError
from toolmesh_broker.identities import Identity

__all__ = ["DataFolder", "is_locked", "lock_folder", "write_private"]

_LOCK_PATIENCE_S: Final = 2.0
"""A killed program's server keeps the lock for a moment."""
_LOOK_PATIENCE_S: Final = 0.3
"""So does a look at whether it is held."""
_LOCK_POLL_S: Final = 0.02


@dataclass(frozen=True, slots=True)
class DataFolder:
    """Paths in a data folder."""

    root: Path

    @property
    def lock(self) -> Path:
        """Held while a server, or the program that starts it, lives."""
        return self.root / "lock"

    @property
    def config(self) -> Path:
        """The server's configuration; public keys only."""
        return self.root / "nats-server.conf"

    @property
    def descriptor(self) -> Path:
        """Tells other programs of the running broker."""
        return self.root / "broker.json"

    @property
    def store(self) -> Path:
        """JetStream's files."""
        return self.root / "jetstream"

    @property
    def ports(self) -> Path:
        """Where the server says which port it got."""
        return self.root / "ports"

    @property
    def last_port(self) -> Path:
        """The port that the server had last, kept so that the next one is found in the same place."""
        return self.root / "last-port"

    @property
    def credentials(self) -> Path:
        """Seed files, one for each identity."""
        return self.root / "credentials"

    @property
    def logs(self) -> Path:
        """The server's logs."""
        return self.root / "logs"

    @property
    def server_log(self) -> Path:
        """What the server logs; it bounds the size itself."""
        return self.logs / "nats-server.log"

    @property
    def crash_log(self) -> Path:
        """What the server says before it has a log, and when it crashes."""
        return self.logs / "nats-server.stderr"

    def seed_file(self, identity: Identity) -> Path:
        """Return where an identity's secret is."""
        return self.credentials / f"{identity.name}.nk"

    def prepare(self) -> None:
        """Create what is missing, with mode 0700, and close an existing folder to others.

        Raises:
            DataFolderError: it belongs to another user, is no folder, or can't be written.
        """
        try:
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._make_private()
            for folder in (self.store, self.ports, self.credentials, self.logs):
                folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise DataFolderError(
                f"can't use data folder {self.root}: {error.strerror}",
                hint="choose another folder, or correct its rights",
            ) from error

    def _make_private(self) -> None:
        status = self.root.stat()
        if status.st_uid != os.geteuid():
            raise DataFolderError(
                f"data folder {self.root} belongs to uid {status.st_uid}, not to this user",
                hint="choose another folder",
            )
        if stat.S_IMODE(status.st_mode) != stat.S_IRWXU:
            self.root.chmod(stat.S_IRWXU)


@asynccontextmanager
async def lock_folder(folder: DataFolder) -> AsyncIterator[int]:
    """Hold the folder's lock; yields its descriptor, which a server inherits to hold the lock as long as it lives.

    Waits for up to 2 s while a server whose program is gone has the lock.

    Raises:
        DataFolderInUseError: another server has it.
    """
    descriptor = os.open(folder.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        began = time.monotonic()
        while not _try_lock(descriptor, fcntl.LOCK_EX):
            holder = os.pread(descriptor, 32, 0).decode(errors="replace").strip() or "unknown"
            if time.monotonic() - began > (_LOOK_PATIENCE_S if _is_running(holder) else _LOCK_PATIENCE_S):
                raise DataFolderInUseError(
                    f"data folder {folder.root} is in use by process {holder}",
                    hint="stop that process, or choose another data folder",
                )
            await asyncio.sleep(_LOCK_POLL_S)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield descriptor
    finally:
        os.close(descriptor)


def is_locked(folder: DataFolder) -> bool:
    """Return whether a server, or the program that starts one, holds the folder's lock."""
    with contextlib.suppress(FileNotFoundError):
        descriptor = os.open(folder.lock, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return not _try_lock(descriptor, fcntl.LOCK_SH)
        finally:
            os.close(descriptor)
    return False


def write_private(path: Path, text: str) -> None:
    """Replace a file's content at once, mode 0600."""
    temporary = path.with_name(f".{path.name}.new")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    temporary.replace(path)


def _is_running(holder: str) -> bool:
    if not holder.isdecimal():
        return False
    try:
        os.kill(int(holder), 0)
    except PermissionError:
        return True
    except (ProcessLookupError, OverflowError):
        return False
    return True


def _try_lock(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
