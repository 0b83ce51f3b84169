"""Per-call work folders on the host: made for one call, owned by who the tool runs as, gone afterwards."""

import asyncio
import dataclasses
import fcntl
import logging
import os
import secrets
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from toolmesh_sandbox.base_folder import subfolder
from toolmesh_sandbox.errors import PolicyInvalidError, SandboxUnavailableError
from toolmesh_sandbox.identities import Identities
from toolmesh_sandbox.tree_removal import remove_tree

_log = logging.getLogger(__name__)
_PASSABLE = 0o711
_PRIVATE = 0o700


@dataclasses.dataclass(frozen=True, kw_only=True)
class MemoryFolders:
    """Descriptors of a workspace in memory; see `memory_folders`.

    Attributes:
        namespaces: user and mount namespace in which it is mounted.
        work: the workspace's top folder.
        outbox: the folder for what the command returns.
    """

    namespaces: tuple[int, int]
    work: int
    outbox: int


class Workspace:
    """One call's folder with `input/` and `output/`.

    What the worker puts there has to be the tool's own, and a tool of an earlier call in the same workspace may have
    planted links; so files are made through the methods here, which follow no link and replace nothing.

    Attributes:
        host: the folder on the host, mode 0700.
        uid: who the tool runs as and owns the folder; None means the worker's own uid.
        memory: its descriptors when it lies in memory. What it holds is then not to be found below `host`, and the
            methods that make files can't be used: give the command its input by other ways.
    """

    def __init__(self, host: Path, uid: int | None) -> None:
        self.host = host
        self.uid = uid
        self.memory: MemoryFolders | None = None

    @property
    def outbox(self) -> Path | int:
        """Where the command leaves its files, for `outputs.collect`: a path, or a descriptor of a folder in memory."""
        return self.host / "output" if self.memory is None else self.memory.outbox

    def create_file(self, name: str) -> BinaryIO:
        """Make a new file (mode 0600, the tool's), open for writing; `name` is relative to the workspace.

        Raises:
            OSError: it exists, or a link or no folder is on the way.
            PolicyInvalidError: the name leaves the workspace.
        """
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with self._parent(name) as (folder, last):
            file: BinaryIO = os.fdopen(os.open(last, flags, 0o600, dir_fd=folder), "wb")
            if self.uid is not None:
                os.fchown(file.fileno(), self.uid, self.uid)
            return file

    def write_file(self, name: str, data: bytes) -> None:
        """Make a new file with this content; errors as `create_file`."""
        with self.create_file(name) as file:
            file.write(data)

    def make_fifo(self, name: str) -> None:
        """Make a FIFO (mode 0600, the tool's); errors as `create_file`."""
        with self._parent(name) as (folder, last):
            os.mkfifo(last, 0o600, dir_fd=folder)
        self.adopt(name)

    def adopt(self, name: str) -> None:
        """Make the tool the owner of something that the worker has put there, such as a socket."""
        if self.uid is not None:
            with self._parent(name) as (folder, last):
                os.chown(last, self.uid, self.uid, dir_fd=folder, follow_symlinks=False)

    @contextmanager
    def _parent(self, name: str) -> Iterator[tuple[int, str]]:
        parts = PurePosixPath(name).parts
        if not parts or parts[0] == "/" or ".." in parts:
            raise PolicyInvalidError(f"{name!r} is not a name inside the workspace")
        if self.memory is not None:
            raise PolicyInvalidError("the workspace lies in memory, where only the command can make files")
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        folder = os.open(self.host, flags)
        try:
            for part in parts[:-1]:
                deeper = os.open(part, flags, dir_fd=folder)
                os.close(folder)
                folder = deeper
            yield folder, parts[-1]
        finally:
            os.close(folder)


class Workspaces:
    """Makes workspaces below one folder of this worker. Use `open_workspaces`."""

    def __init__(self, folder: Path, identities: Identities) -> None:
        self._folder = folder
        self._identities = identities

    @property
    def most(self) -> int | None:
        """How many there can be at a time, each with a uid of its own; None where they have none."""
        return self._identities.most

    @asynccontextmanager
    async def new(self, folders: tuple[str, ...] = ("input", "output")) -> AsyncIterator[Workspace]:
        """A fresh workspace with these folders, and where the worker is root a uid of its own, until the context ends.

        Raises:
            SandboxExhaustedError: every uid is in use.
            SandboxUnavailableError: a root worker may not give files away.
        """
        with self._identities.lease() as uid:
            workspace = Workspace(self._folder / secrets.token_hex(6), uid)
            try:
                _make(workspace, folders)
                yield workspace
            finally:
                await _remove(workspace.host)


def _make(workspace: Workspace, folders: tuple[str, ...]) -> None:
    for folder in (workspace.host, *(workspace.host / name for name in folders)):
        folder.mkdir(mode=_PRIVATE)
        if workspace.uid is not None:
            try:
                os.chown(folder, workspace.uid, workspace.uid)
            except OSError as error:
                raise SandboxUnavailableError(
                    f"can't give a workspace to uid {workspace.uid}: {error.strerror}",
                    "run the worker as an ordinary user, or give it CAP_CHOWN and a uid range that its container maps",
                    "CAP_CHOWN",
                ) from error


async def _remove(folder: Path) -> None:
    """Remove a workspace in a thread; a cancelled caller waits for it all the same, as the uid is lent again after."""
    removal = asyncio.ensure_future(asyncio.to_thread(remove_tree, folder))
    try:
        removed = await asyncio.shield(removal)
    except asyncio.CancelledError:
        await asyncio.wait({removal})
        raise
    if not removed:
        _log.error("workspace %s could not be removed; the next start of a worker tries again", folder)


@asynccontextmanager
async def open_workspaces(base: Path, identities: Identities) -> AsyncIterator[Workspaces]:
    """The workspaces of one worker; what killed workers have left below `base` is removed first."""
    runs = subfolder(base, "run", _PASSABLE)
    with _claimed(runs) as name:
        folder = subfolder(runs, name, _PASSABLE)
        try:
            await asyncio.to_thread(_sweep, runs)
            yield Workspaces(folder, identities)
        finally:
            await _remove(folder)


@contextmanager
def _claimed(runs: Path) -> Iterator[str]:
    """A folder name whose lock file we hold: it tells other workers that the folder is in use."""
    while True:
        path = runs / f"{secrets.token_hex(4)}.lock"
        with path.open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            # A sweep that came between the two lines above has taken the file for a dead worker's and removed it.
            if path.exists():
                try:
                    yield path.stem
                finally:
                    path.unlink(missing_ok=True)
                return


def _sweep(runs: Path) -> None:
    """Remove the folders of workers that no longer hold their lock."""
    for path in runs.glob("*.lock"):
        try:
            lock = path.open("r+b")
        except FileNotFoundError:
            continue
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            if remove_tree(path.with_suffix("")):
                path.unlink(missing_ok=True)
