"""What authorization is, loaded and checked: roles, who has them, and why."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

__all__ = ["AssignedRoles", "Authorization", "AuthorizationType", "Role"]


class AuthorizationType(StrEnum):
    """How it is decided what a user may do."""

    DEFAULT_RBAC = "default_rbac"
    """What the user's roles grant."""
    DENY_ALL = "deny_all"
    """Nothing."""
    NONE = "none"
    """Everything, to everybody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """A role.

    Attributes:
        name: Its name.
        scopes: What it grants itself.
        inherits: Roles whose scopes it has too.
    """

    name: str
    scopes: tuple[str, ...] = ()
    inherits: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AssignedRoles:
    """What the file of users says of one.

    Attributes:
        roles: Their roles.
        place: File and line.
    """

    roles: tuple[str, ...]
    place: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Authorization:
    """Everything from which a user's scopes follow.

    Attributes:
        type: How it is decided.
        roles: The roles by name.
        users: What the file of users assigns, by the one spelling of their ids.
        claim_key: The identity provider's claim that counts, or "".
        claim_roles: The roles of each of its values.
        default_roles: Roles of people to whom nothing assigns any.
        granted_in: The file in which a user is given a role, for messages.

    Raises:
        ValueError: a role is named that is not defined.
    """

    type: AuthorizationType
    roles: Mapping[str, Role] = field(default_factory=dict)
    users: Mapping[str, AssignedRoles] = field(default_factory=dict)
    claim_key: str = ""
    claim_roles: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    default_roles: tuple[str, ...] = ()
    granted_in: str = ""

    def __post_init__(self) -> None:
        named = {
            *self.default_roles,
            *(role for assigned in self.users.values() for role in assigned.roles),
            *(role for roles in self.claim_roles.values() for role in roles),
            *(other for role in self.roles.values() for other in role.inherits),
        }
        if undefined := sorted(named - self.roles.keys()):
            raise ValueError(f"roles are not defined: {', '.join(undefined)}")
