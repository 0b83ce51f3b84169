"""From an identity to its roles, each with the reason, and to its scopes."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from toolmesh_contracts.access.authorization import Authorization, AuthorizationType
from toolmesh_contracts.access.user_ids import SYSTEM_PREFIX, claims_to_be_system, same_user
from toolmesh_contracts.errors import ErrorCode, ToolmeshError
from toolmesh_contracts.scopes import ScopeSet

__all__ = [
    "Access",
    "HeldRole",
    "ReservedSubjectError",
    "RoleSource",
    "access_of_person",
    "access_of_system_user",
    "refuse_system_user",
]

_INVOKE: Final = ("agent:*:invoke", "workflow:*:invoke")
_SYSTEM_USERS: Final[Mapping[str, tuple[str, ...]]] = {
    "system:channel": _INVOKE,
    "system:default": _INVOKE,
    "system:eval": (*_INVOKE, "tool:*:*"),
}
"""What toolmesh's own users may do unless the file of users says otherwise."""


class ReservedSubjectError(ToolmeshError):
    """Raised for somebody who signs in as one of toolmesh's own users."""

    default_code = ErrorCode.AUTHENTICATION_FAILED


class RoleSource(StrEnum):
    """Where a role comes from."""

    FILE = "file"
    """The file of users."""
    CLAIM = "claim"
    """What the identity provider says."""
    DEFAULT = "default"
    """Nothing assigns any other."""
    INHERITED = "inherited"
    """Another role includes it."""


@dataclass(frozen=True, slots=True)
class HeldRole:
    """A role, and why it is held.

    Attributes:
        name: The role.
        source: Where it comes from.
        detail: File and line, `claim=value`, or the role that includes it; empty for a default role.
    """

    name: str
    source: RoleSource
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """What one identity may do.

    Attributes:
        subject: The one spelling of its id, as its tokens name it.
        type: How that was decided.
        roles: Its roles, assigned ones first.
        scopes: What they grant together.
    """

    subject: str
    type: AuthorizationType
    roles: tuple[HeldRole, ...] = ()
    scopes: tuple[str, ...] = ()

    @property
    def held(self) -> ScopeSet:
        """The scopes, to ask what they cover."""
        return ScopeSet(self.scopes)


def refuse_system_user(subject: str) -> None:
    """Refuse somebody from outside who says to be one of toolmesh's own users.

    Raises:
        ReservedSubjectError: it is one of their ids, or looks like one.
    """
    if claims_to_be_system(subject):
        raise ReservedSubjectError(
            f"the user {subject!r} is refused: ids that begin with {SYSTEM_PREFIX!r} are toolmesh's own",
            hint="sign in as a person",
        )


def access_of_person(authorization: Authorization, subject: str, claims: Mapping[str, object] | None = None) -> Access:
    """Return what somebody may do who signed in.

    Args:
        authorization: Who may do what.
        subject: The verified subject.
        claims: What the identity provider says, verified; only texts and lists of texts count.

    Raises:
        ReservedSubjectError: the subject is one of toolmesh's own.
    """
    refuse_system_user(subject)
    user = same_user(subject)
    assigned = [*_from_file(authorization, user), *_from_claims(authorization, claims or {})]
    # An assignment of no role at all is one, too: this user may do nothing.
    explicit = user in authorization.users or bool(_mapped_values(authorization, claims or {}))
    if not explicit:
        assigned = [HeldRole(role, RoleSource.DEFAULT) for role in authorization.default_roles]
    return _access(authorization, user, assigned)


def access_of_system_user(authorization: Authorization, subject: str) -> Access:
    """Return what one of toolmesh's own users may do: what the file of users says, else what is built in, else nothing.

    Raises:
        ValueError: `subject` is no id of a system user.
    """
    if not subject.startswith(SYSTEM_PREFIX):
        raise ValueError(f"{subject!r} is no system user")
    if subject in authorization.users:
        return _access(authorization, subject, _from_file(authorization, subject))
    return _access(authorization, subject, (), _SYSTEM_USERS.get(subject, ()))


def _access(
    authorization: Authorization, subject: str, assigned: Iterable[HeldRole], built_in: tuple[str, ...] = ()
) -> Access:
    match authorization.type:
        case AuthorizationType.DEFAULT_RBAC:
            roles = tuple(_with_inherited(authorization, assigned))
            granted = (scope for role in roles for scope in authorization.roles[role.name].scopes)
            scopes = tuple(dict.fromkeys((*built_in, *granted)))
            return Access(subject=subject, type=authorization.type, roles=roles, scopes=scopes)
        case AuthorizationType.NONE:
            return Access(subject=subject, type=authorization.type, scopes=("*",))
        case AuthorizationType.DENY_ALL:
            return Access(subject=subject, type=authorization.type)


def _with_inherited(authorization: Authorization, assigned: Iterable[HeldRole]) -> Iterator[HeldRole]:
    """Yield each role once, with its first reason: nearer ones first."""
    seen: set[str] = set()
    waiting = deque(assigned)
    while waiting:
        role = waiting.popleft()
        if role.name in seen:
            continue
        seen.add(role.name)
        yield role
        inherited = authorization.roles[role.name].inherits
        waiting.extend(HeldRole(other, RoleSource.INHERITED, role.name) for other in inherited)


def _from_file(authorization: Authorization, user: str) -> Iterator[HeldRole]:
    if assigned := authorization.users.get(user):
        for role in assigned.roles:
            yield HeldRole(role, RoleSource.FILE, assigned.place)


def _from_claims(authorization: Authorization, claims: Mapping[str, object]) -> Iterator[HeldRole]:
    for value in _mapped_values(authorization, claims):
        for role in authorization.claim_roles[value]:
            yield HeldRole(role, RoleSource.CLAIM, f"{authorization.claim_key}={value}")


def _mapped_values(authorization: Authorization, claims: Mapping[str, object]) -> list[str]:
    """Return the values of the claim that counts for which there is a mapping."""
    said = claims.get(authorization.claim_key) if authorization.claim_key else None
    values = said if isinstance(said, list | tuple) else [said]
    return [value for value in values if isinstance(value, str) and value in authorization.claim_roles]
