"""Nkeys: how a process proves to the broker who it is, without the broker ever holding the secret."""

import contextlib
import os
import secrets
import stat
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

import nkeys  # type: ignore[import-untyped]  # the package has no stubs

from toolmesh_broker.errors import BrokerError
from toolmesh_contracts.errors import ErrorCode

__all__ = ["CredentialsError", "NkeyPair", "load_or_create_nkey", "read_nkey"]

_SEED_BYTES: Final = 32
_MAX_FILE_BYTES: Final = 4096
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


class CredentialsError(BrokerError):
    """Raised when a seed file is missing, unreadable, malformed or open to other users."""

    default_code = ErrorCode.INVALID_CONFIGURATION


@dataclass(frozen=True, slots=True)
class NkeyPair:
    """A user's Ed25519 key pair in NATS' encoding."""

    public: str
    """Starts with `U`; the server's configuration may hold it."""
    seed: bytes = field(repr=False)
    """Starts with `SU`; the secret."""

    @classmethod
    def generate(cls) -> Self:
        """Make a new pair from the system's randomness."""
        return cls.from_seed(nkeys.encode_seed(secrets.token_bytes(_SEED_BYTES), nkeys.PREFIX_BYTE_USER))

    @classmethod
    def from_seed(cls, seed: bytes) -> Self:
        """Derive the pair; ValueError when `seed` is no user seed."""
        try:
            prefix, _ = nkeys.decode_seed(bytearray(seed))
            public = bytes(nkeys.from_seed(bytearray(seed)).public_key).decode("ascii")
        except (nkeys.NkeysError, ValueError, IndexError) as error:
            raise ValueError("no nkey seed") from error
        if prefix != nkeys.PREFIX_BYTE_USER:
            raise ValueError("an nkey seed, but not a user's")
        return cls(public, seed)


def read_nkey(path: Path) -> NkeyPair:
    """Read a seed file.

    Raises:
        CredentialsError: it is missing, unreadable, open to other users, or holds no user seed.
    """
    content = _read_private(path)
    try:
        return NkeyPair.from_seed(content.strip())
    except ValueError as error:
        raise CredentialsError(
            f"nkey seed file {path} holds {error}", hint="delete it if toolmesh made it; a new one is made at the start"
        ) from None


def load_or_create_nkey(path: Path) -> NkeyPair:
    """Read the seed file `path`, or create it (mode 0600) with a new seed; safe between racing processes.

    Raises:
        CredentialsError: the file can't be created, or is there but unusable.
    """
    if not path.exists():
        try:
            _create_private(path, NkeyPair.generate().seed + b"\n")
        except OSError as error:
            raise CredentialsError(
                f"can't create nkey seed file {path}: {error.strerror}", hint="make its folder writable for this user"
            ) from error
    return read_nkey(path)


def _create_private(path: Path, content: bytes) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new-")  # mode 0600
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        # A link, unlike a rename, leaves the file of a process that was first; its key is then the one to use.
        with contextlib.suppress(FileExistsError):
            os.link(temporary, path)
    finally:
        Path(temporary).unlink()


def _read_private(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            content = file.read(_MAX_FILE_BYTES)
    except OSError as error:
        raise CredentialsError(
            f"can't read nkey seed file {path}: {error.strerror}", hint="check the path and its owner"
        ) from error
    if mode & _OTHERS:
        raise CredentialsError(
            f"nkey seed file {path} is open to other users (mode {stat.S_IMODE(mode):04o})",
            hint=f"run: chmod 600 {path}",
        )
    return content
