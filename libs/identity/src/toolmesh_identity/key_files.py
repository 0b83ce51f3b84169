"""Key files on disk: private ones readable by their owner only, written whole or not at all."""

import contextlib
import fcntl
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from toolmesh_identity.errors import KeyFileError

MAX_FILE_BYTES: Final = 256 * 1024
_PRIVATE_MODE: Final = 0o600
_PUBLIC_MODE: Final = 0o644
_FOLDER_MODE: Final = 0o700


def read_private(path: Path) -> bytes:
    """Read a private key file.

    Raises:
        KeyFileError: `not_found` when it is missing; else when it is a symbolic link, no regular file, too large, or
            group or others have any right on it.
    """
    return _read(path, forbidden=0o077, flags=os.O_NOFOLLOW, cure="chmod 600")


def read_public(path: Path) -> bytes:
    """Read a file of public keys. It may be a symbolic link, as mounted configuration often is.

    Raises:
        KeyFileError: `not_found` when it is missing; else when it is no regular file, too large, or group or others can
            write it: who writes this file decides who is believed.
    """
    return _read(path, forbidden=0o022, flags=0, cure="chmod go-w")


def _read(path: Path, *, forbidden: int, flags: int, cure: str) -> bytes:
    try:
        # O_NONBLOCK: opening a named pipe must not wait for a writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | flags)
    except FileNotFoundError as error:
        raise KeyFileError(f"{path}: no such key file", reason="not_found") from error
    except OSError as error:
        if path.is_symlink():
            raise KeyFileError(f"{path}: is a symbolic link; name the file itself", reason="symlink") from error
        raise KeyFileError(f"{path}: can't be read: {error.strerror}", reason="unreadable") from error
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise KeyFileError(f"{path}: is not a regular file", reason="not_a_file")
        mode = stat.S_IMODE(status.st_mode)
        if mode & forbidden:
            raise KeyFileError(f"{path}: is open to others (mode {mode:04o}); run: {cure} {path}", reason="open_mode")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            data = file.read(MAX_FILE_BYTES + 1)
    finally:
        os.close(descriptor)
    if len(data) > MAX_FILE_BYTES:
        raise KeyFileError(f"{path}: larger than {MAX_FILE_BYTES} bytes; not a key file", reason="oversized")
    return data


def make_private_folder(folder: Path) -> None:
    """Make sure that `folder` exists and only its owner can enter it.

    Raises:
        KeyFileError: When something else is there, or the folder is open to others.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(_FOLDER_MODE, exist_ok=True)
        status = folder.lstat()
    except OSError as error:
        raise KeyFileError(f"{folder}: can't be made a folder: {error.strerror}", reason="unwritable") from error
    if not stat.S_ISDIR(status.st_mode):
        raise KeyFileError(f"{folder}: is not a folder itself; name the real one", reason="not_a_folder")
    mode = stat.S_IMODE(status.st_mode)
    if mode & 0o077:
        raise KeyFileError(
            f"{folder}: is open to others (mode {mode:04o}); run: chmod 700 {folder}", reason="open_mode"
        )


def create_or_read(path: Path, make: Callable[[], bytes]) -> bytes:
    """Read a private key file; create it when it is missing.

    Of several processes that do this at once, one creates the file and all return what it wrote.

    Raises:
        KeyFileError: When the file can be neither read nor created.
    """
    with contextlib.suppress(FileNotFoundError):
        path.lstat()
        return read_private(path)
    try:
        create(path, make())
    except FileExistsError:
        return read_private(path)
    return read_private(path)


def create(path: Path, data: bytes) -> None:
    """Write a new private key file: it appears whole, and never in place of another.

    Raises:
        FileExistsError: When there is something at `path`.
        KeyFileError: When it can't be written.
    """
    with _written(path, data, _PRIVATE_MODE) as draft:
        # A hard link, unlike a rename, fails when the name is taken.
        os.link(draft, path, follow_symlinks=False)


def replace_private(path: Path, data: bytes) -> None:
    """Put a new private key file in the place of the old one, atomically.

    Raises:
        KeyFileError: When it can't be written.
    """
    with _written(path, data, _PRIVATE_MODE) as draft:
        draft.replace(path)


def write_public(path: Path, data: bytes) -> None:
    """Write a file of public keys (mode 0644), atomically, in place of an older one.

    Raises:
        KeyFileError: When it can't be written.
    """
    with _written(path, data, _PUBLIC_MODE) as draft:
        draft.replace(path)


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the folder's lock, so that two processes don't change its files at once.

    Raises:
        KeyFileError: When the folder can't be opened.
    """
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise KeyFileError(f"{folder}: can't be opened: {error.strerror}", reason="unreadable") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _written(path: Path, data: bytes, mode: int) -> Iterator[Path]:
    """Write a synced draft beside `path` for the caller to put in place; remove what is left of it."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}.new")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
        try:
            with os.fdopen(descriptor, "wb") as file:
                # The umask may have taken away more than it should.
                os.fchmod(file.fileno(), mode)
                file.write(data)
                file.flush()
                os.fsync(descriptor)
            yield draft
        finally:
            draft.unlink(missing_ok=True)
        _sync_folder(path.parent)
    except FileExistsError:
        raise
    except OSError as error:
        raise KeyFileError(f"{path}: can't be written: {error.strerror}", reason="unwritable") from error


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
