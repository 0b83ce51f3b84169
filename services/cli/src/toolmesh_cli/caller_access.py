"""Which scopes a command has on behalf of a user."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from toolmesh_cli.mesh_authorization import read_source
from toolmesh_cli.mesh_state import read_state
from toolmesh_cli.terminal import Terminal
from toolmesh_contracts.access.authorization import Authorization, AuthorizationType
from toolmesh_contracts.access.narrowing import narrow
from toolmesh_contracts.access.resolution import Access, access_of_person, access_of_system_user, refuse_system_user
from toolmesh_contracts.access.user_ids import SYSTEM_PREFIX
from toolmesh_contracts.errors import ErrorCode, ToolmeshError
from toolmesh_identity.claims import Claims
from toolmesh_identity.development import ISSUER_NAME
from toolmesh_identity.errors import TokenInvalidError

__all__ = ["caller_of", "check_claims", "mesh_authorization", "shown_access"]

_ANY_NAMESPACE: Final = "default"
_UP: Final = "start the mesh with `toolmesh up --authorization FILE`"


def mesh_authorization(folder: Path) -> Authorization:
    """Return the authorization of the mesh in a data folder, as its files are now.

    Raises:
        ToolmeshError: the mesh has none, or its files can't be used: then nobody may do anything.
    """
    source = read_state(folder).authorization
    if source is None:
        raise ToolmeshError("this mesh has no roles and users", code=ErrorCode.INVALID_CONFIGURATION, hint=_UP)
    return read_source(source)


def caller_of(folder: Path, user: str, hints: Sequence[str] | None) -> tuple[str, tuple[str, ...]]:
    """Return under which id, and with which scopes, a command calls on behalf of `user`.

    Args:
        folder: The mesh's data folder.
        user: Who it speaks for.
        hints: Scopes to narrow the user's to; in a mesh without authorization, the scopes themselves.

    Raises:
        ToolmeshError: there are none, and who may give some; or the id is that of one of toolmesh's own users.
    """
    refuse_system_user(user)
    source = read_state(folder).authorization
    if source is None:
        if hints is None:
            raise ToolmeshError(
                f"nothing says what the user {user!r} may do: this mesh has no roles and users",
                code=ErrorCode.PERMISSION_DENIED,
                hint=f"{_UP}, or say it with --scope",
            )
        return user, tuple(hints)
    authorization = read_source(source)
    access = access_of_person(authorization, user)
    if not access.scopes:
        raise _nothing_granted(access, authorization)
    return access.subject, access.scopes if hints is None else _narrowed(access, hints)


def check_claims(option: str, namespace: str, *, user: str | None = None, scopes: Sequence[str] | None = None) -> None:
    """Refuse what can't be in a token before one is asked for, when it would look like a problem of signing in.

    Raises:
        ToolmeshError: `option` gave it.
    """
    try:
        Claims.new(
            "somebody" if user is None else user, tuple(scopes or ()), audience=namespace, issuer=ISSUER_NAME, now=0
        )
    except TokenInvalidError as error:
        raise ToolmeshError(
            f"{option} can't be used: {error.message}",
            code=ErrorCode.INVALID_REQUEST,
            hint="give 1 to 512 printable characters that name somebody or something",
        ) from error


def shown_access(authorization: Authorization, user: str, claims: Sequence[str]) -> Access:
    """Return what a user may do for whom an identity provider says `claims`, each KEY=VALUE; toolmesh's own users too.

    Raises:
        ToolmeshError: a claim has another form, or nobody can be this user.
    """
    check_claims("the user", _ANY_NAMESPACE, user=user)
    if user.startswith(SYSTEM_PREFIX):
        return access_of_system_user(authorization, user)
    return access_of_person(authorization, user, _claims_of(claims))


def _narrowed(access: Access, hints: Sequence[str]) -> tuple[str, ...]:
    narrowed = narrow(access.scopes, hints)
    if not narrowed.scopes:
        raise ToolmeshError(
            f"the user {access.subject!r} does not have the scope {', '.join(narrowed.dropped)}",
            code=ErrorCode.PERMISSION_DENIED,
            hint="--scope takes away from what a user's roles grant; `toolmesh access show` tells what that is",
        )
    if narrowed.dropped:
        Terminal.stderr().warning(
            f"left out, for the user {access.subject!r} does not have it: {', '.join(narrowed.dropped)}"
        )
    return narrowed.scopes


def _nothing_granted(access: Access, authorization: Authorization) -> ToolmeshError:
    if access.type is AuthorizationType.DENY_ALL:
        return ToolmeshError(
            f"the user {access.subject!r} may do nothing: authorization is `deny_all`, for everybody",
            code=ErrorCode.PERMISSION_DENIED,
            hint=f"whoever writes {authorization.granted_in} may set `type: default_rbac` with roles and users",
        )
    lacks = f"only roles that grant nothing ({', '.join(role.name for role in access.roles)})"
    return ToolmeshError(
        f"the user {access.subject!r} has {lacks if access.roles else 'no role, so no scope'}",
        code=ErrorCode.PERMISSION_DENIED,
        hint=f"whoever writes {authorization.granted_in} may give one; `toolmesh access show "
        f"{shlex.quote(access.subject)}` tells "
        "which scopes agents and tools need",
    )


def _claims_of(pairs: Sequence[str]) -> Mapping[str, list[str]]:
    claims: dict[str, list[str]] = {}
    for pair in pairs:
        key, separator, value = pair.partition("=")
        if not (key and separator):
            raise ToolmeshError(f"--claim {pair!r} is no claim", code=ErrorCode.INVALID_REQUEST, hint="write KEY=VALUE")
        claims.setdefault(key, []).append(value)
    return claims
