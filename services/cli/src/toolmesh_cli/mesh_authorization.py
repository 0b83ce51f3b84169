"""Where a mesh's authorization stands: fixed when it starts, read anew by each command."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from toolmesh_cli.terminal import Terminal
from toolmesh_contracts.access.authorization import Authorization, AuthorizationType
from toolmesh_contracts.access.loading import VARIABLES, load_authorization

__all__ = [
    "NO_AUTHORIZATION",
    "AuthorizationSource",
    "authorization_source",
    "counted",
    "read_source",
    "tell_authorization",
]

NO_AUTHORIZATION: Final = "everybody may call everything: authorization is switched off (`type: none`)"
_PATHS: Final = frozenset(VARIABLES.values()) - {"AUTHORIZATION_TYPE"}


class AuthorizationSource(msgspec.Struct, frozen=True, kw_only=True):
    """What `toolmesh up` was started with; the environment of a later command decides nothing."""

    file: str | None
    """Absolute path."""
    variables: dict[str, str]
    """The variables of authorization that were set then, their paths absolute."""


def authorization_source(file: Path | None, environment: Mapping[str, str] = os.environ) -> AuthorizationSource | None:
    """Return where authorization stands; None if neither a file nor a variable says anything of it."""
    variables = {
        name: str(Path(value).absolute()) if name in _PATHS else value
        for name in VARIABLES.values()
        if (value := environment.get(name))
    }
    if file is None and not variables:
        return None
    return AuthorizationSource(file=None if file is None else str(file.absolute()), variables=variables)


def read_source(source: AuthorizationSource) -> Authorization:
    """Load the authorization as its files are now.

    Raises:
        ConfigError: they can't be used; nobody may do anything until they can.
    """
    return load_authorization(None if source.file is None else Path(source.file), source.variables)


def counted(authorization: Authorization) -> str:
    """Return how many roles and users there are."""
    roles, users = len(authorization.roles), len(authorization.users)
    return f"{roles} role{'' if roles == 1 else 's'}, {users} user{'' if users == 1 else 's'} in the file"


def tell_authorization(authorization: Authorization, terminal: Terminal) -> None:
    """Tell whoever starts a mesh what others may do there."""
    match authorization.type:
        case AuthorizationType.NONE:
            terminal.warning(NO_AUTHORIZATION)
        case AuthorizationType.DENY_ALL:
            terminal.warning("nobody but the mesh's owner may call anything: authorization is `deny_all`")
        case AuthorizationType.DEFAULT_RBAC:
            terminal.step("access", counted(authorization))
