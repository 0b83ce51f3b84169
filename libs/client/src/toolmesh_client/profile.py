"""The file by which programs on one machine find a running toolmesh: `client.json` in its data folder.

It names secrets by path and holds none. `toolmesh up` writes it when it is ready and removes it when it ends.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal

import msgspec

from toolmesh_broker.errors import BrokerUnreachableError
from toolmesh_broker.settings import ConnectionSettings
from toolmesh_client.errors import ProfileError
from toolmesh_client.private_file import replace_private_file
from toolmesh_client.settings import ClientSettings, Patience
from toolmesh_client.tokens import TokenSource, development_tokens, environment_tokens, file_tokens
from toolmesh_contracts.broker_config import broker_urls
from toolmesh_identity.errors import IdentityError
from toolmesh_identity.keys import SealingPublicKey, SigningKey

__all__ = [
    "PROFILE_NAME",
    "ClientProfile",
    "DevelopmentTokens",
    "EnvironmentTokens",
    "FileTokens",
    "data_folder",
    "read_profile",
    "settings_from",
    "write_profile",
]

PROFILE_NAME: Final = "client.json"
_MAX_BYTES: Final = 256 * 1024
_UP: Final = "start it with `toolmesh up --tools FOLDER`"


class DevelopmentTokens(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="development"):
    """Mint tokens with the keys of a development issuer's folder."""

    folder: str
    subject: str
    scopes: tuple[str, ...]


class FileTokens(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="file"):
    """Read the token from a file."""

    path: str


class EnvironmentTokens(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="environment"):
    """Read the token from an environment variable."""

    variable: str = "TOOLMESH_TOKEN"


class ClientProfile(msgspec.Struct, frozen=True, kw_only=True):
    """How to call tools of a running toolmesh.

    Attributes:
        namespace: Its namespace.
        broker_url: Where its broker listens; servers of a cluster are separated by commas.
        executor: The id under which all programs that read the profile call; the credentials belong to it.
        identity: Name of the connection and its private inbox, as the credentials allow.
        executor_key_file: Private key file that signs calls.
        tokens: Where the caller's tokens come from.
        nkey_seed_file: The broker credentials' seed.
        credentials_file: Or a `.creds` file.
        sealing_key_files: Each pool's public sealing key file.
        version: Of this file's form.
    """

    namespace: str
    broker_url: str
    executor: str
    identity: str
    executor_key_file: str
    tokens: DevelopmentTokens | FileTokens | EnvironmentTokens
    nkey_seed_file: str | None = None
    credentials_file: str | None = None
    sealing_key_files: dict[str, str] = {}
    version: Literal[1] = 1


def data_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Return where toolmesh keeps its data: $TOOLMESH_DATA, else below $XDG_DATA_HOME, else ~/.local/share/toolmesh."""
    if home := environment.get("TOOLMESH_DATA"):
        return Path(home)
    shared = environment.get("XDG_DATA_HOME", "")
    # The XDG specification tells to ignore relative paths.
    base = Path(shared) if Path(shared).is_absolute() else Path.home() / ".local" / "share"
    return base / "toolmesh"


def write_profile(folder: Path, profile: ClientProfile) -> Path:
    """Write the profile (mode 0600) into `folder`, whole or not at all, and return its path."""
    path = folder / PROFILE_NAME
    replace_private_file(path, msgspec.json.format(msgspec.json.encode(profile), indent=2) + b"\n")
    return path


def read_profile(path: Path) -> ClientProfile:
    """Read a profile.

    Raises:
        BrokerUnreachableError: there is none: toolmesh is not running.
        ProfileError: it can't be read, is open to others, or has errors.
    """
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            data = file.read(_MAX_BYTES)
    except FileNotFoundError as error:
        raise BrokerUnreachableError(f"no toolmesh is running here: {path} is missing", hint=_UP) from error
    except OSError as error:
        raise ProfileError(f"{path} can't be read: {error.strerror}", hint="check its owner and rights") from error
    if mode & 0o022:
        raise ProfileError(f"{path} can be written by other users", hint=f"run: chmod 600 {path}")
    try:
        return msgspec.json.decode(data, type=ClientProfile)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ProfileError(f"{path} is no valid profile: {error}", hint=f"remove it, and {_UP}") from error


def settings_from(profile: ClientProfile, patience: Patience | None = None) -> ClientSettings:
    """Load the keys that a profile names.

    Raises:
        BrokerUnreachableError: one is missing: the profile is a left-over.
        ProfileError: one can't be used.
    """
    try:
        signing_key = SigningKey.from_file(Path(profile.executor_key_file))
        sealing = {pool: SealingPublicKey.from_file(Path(path)) for pool, path in profile.sealing_key_files.items()}
    except IdentityError as error:
        if error.reason == "not_found":
            raise BrokerUnreachableError(f"no toolmesh is running here: {error.message}", hint=_UP) from error
        raise ProfileError(error.message) from error
    connection = ConnectionSettings(
        servers=broker_urls(profile.broker_url),
        namespace=profile.namespace,
        identity=profile.identity,
        nkey_seed_file=_path(profile.nkey_seed_file),
        credentials_file=_path(profile.credentials_file),
    )
    return ClientSettings(
        executor=profile.executor,
        connection=connection,
        signing_key=signing_key,
        tokens=_token_source(profile),
        sealing_keys=sealing,
        patience=patience or Patience(),
        # Every program that reads the profile has its id and credentials.
        shared=True,
    )


def _token_source(profile: ClientProfile) -> TokenSource:
    match profile.tokens:
        case DevelopmentTokens(folder=folder, subject=subject, scopes=scopes):
            return development_tokens(Path(folder), subject, scopes, namespace=profile.namespace)
        case FileTokens(path=path):
            return file_tokens(Path(path))
        case EnvironmentTokens(variable=variable):
            return environment_tokens(variable)


def _path(text: str | None) -> Path | None:
    return None if text is None else Path(text)
