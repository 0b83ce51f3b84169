"""How a command reaches the mesh that runs in a data folder."""

import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from toolmesh_broker.embedded.data_folder import DataFolder, is_locked
from toolmesh_broker.jetstream.broker import JetStreamBroker
from toolmesh_broker.jetstream.broker import connect as connect_to_broker
from toolmesh_cli.caller_access import caller_of, check_claims
from toolmesh_client.client import Client
from toolmesh_client.connect import client_over
from toolmesh_client.profile import (
    PROFILE_NAME,
    ClientProfile,
    DevelopmentTokens,
    data_folder,
    read_profile,
    settings_from,
)
from toolmesh_client.tokens import TokenSource
from toolmesh_contracts.errors import ErrorCode, ToolmeshError

__all__ = ["MeshConnection", "connect_to_mesh", "development_tokens_of", "folder_of", "running_profile"]


@dataclass(frozen=True, slots=True)
class MeshConnection:
    """A client of a running mesh, and who it is there."""

    client: Client
    broker: JetStreamBroker
    profile: ClientProfile
    tokens: TokenSource


def folder_of(given: Path | None) -> Path:
    """Return the data folder that a command uses."""
    return (data_folder() if given is None else given).absolute()


@contextlib.asynccontextmanager
async def connect_to_mesh(
    folder: Path | None, *, user: str | None = None, scopes: Sequence[str] | None = None
) -> AsyncIterator[MeshConnection]:
    """Connect to the running mesh as its owner, or with other scopes, or as `user` with the scopes of their roles.

    A user's scopes are narrowed by `scopes`, never widened.

    Raises:
        ToolmeshError: no mesh runs here, it can't be reached, it lets nobody choose who to be, or the user may do
            nothing.
    """
    place = folder_of(folder)
    profile = running_profile(place)
    if user is not None or scopes is not None:
        profile = _speak_as(profile, place, user, scopes)
    settings = settings_from(profile)
    async with connect_to_broker(settings.connection) as broker, client_over(broker, settings) as client:
        yield MeshConnection(client, broker, profile, settings.tokens)


def development_tokens_of(profile: ClientProfile, what: str) -> DevelopmentTokens:
    """Return the profile's development issuer.

    Raises:
        ToolmeshError: it has none, so `what` is not possible.
    """
    if isinstance(profile.tokens, DevelopmentTokens):
        return profile.tokens
    raise ToolmeshError(
        f"{what} needs a mesh with a development issuer",
        code=ErrorCode.INVALID_CONFIGURATION,
        hint="here the token alone says who calls and what is allowed",
    )


def running_profile(folder: Path) -> ClientProfile:
    """Return the profile of the mesh that runs in a data folder.

    Raises:
        ToolmeshError: none runs there; one that was killed, whose profile is still there, is told at once.
    """
    profile, data = read_profile(folder / PROFILE_NAME), DataFolder(folder)
    if data.lock.exists() and not is_locked(data):
        raise ToolmeshError(
            f"no toolmesh is running here: the last one in {folder} ended without cleaning up",
            code=ErrorCode.BROKER_UNREACHABLE,
            hint="start it with `toolmesh up --tools FOLDER`",
        )
    return profile


def _speak_as(profile: ClientProfile, folder: Path, user: str | None, scopes: Sequence[str] | None) -> ClientProfile:
    tokens = development_tokens_of(profile, "--user or --scope")
    check_claims("--user", profile.namespace, user=user)
    check_claims("--scope", profile.namespace, scopes=scopes)
    if user is not None:
        subject, granted = caller_of(folder, user, scopes)
    else:
        subject, granted = tokens.subject, tokens.scopes if scopes is None else tuple(scopes)
    tokens = msgspec.structs.replace(tokens, subject=subject, scopes=granted)
    return msgspec.structs.replace(profile, tokens=tokens)
