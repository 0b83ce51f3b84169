"""The file of users: which roles each has."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator

from toolmesh_contracts.access.authorization import AssignedRoles
from toolmesh_contracts.access.role_file import RoleName, undefined_role
from toolmesh_contracts.access.user_ids import SYSTEM_PREFIX, claims_to_be_system, same_user
from toolmesh_contracts.config_fields import ConfigModel
from toolmesh_contracts.config_problems import ConfigError, Problem
from toolmesh_contracts.document import Document
from toolmesh_contracts.model_loading import load_model

__all__ = ["UserAssignment", "UserFile", "load_users"]

_MAX_ID = 512


def _user_id(text: str) -> str:
    if not 0 < len(text) <= _MAX_ID or not text.isprintable() or text != text.strip():
        raise ValueError(f"a user's id is 1 to {_MAX_ID} printable characters without white space at its ends")
    if claims_to_be_system(text) and not text.startswith(SYSTEM_PREFIX):
        raise ValueError(f"ids of system users begin with {SYSTEM_PREFIX!r}, in lower case")
    return text


UserId = Annotated[str, AfterValidator(_user_id)]
"""A user as the identity provider names them (`sub` or an e-mail address), or `system:<name>`."""


class UserAssignment(ConfigModel):
    """One user."""

    roles: tuple[RoleName, ...]
    """Their roles; none means that this user may do nothing, whatever others may by default."""


class UserFile(ConfigModel):
    """The whole file."""

    users: dict[UserId, UserAssignment]
    """The users by id. E-mail addresses are the same in any case, other ids are not."""


def load_users(path: Path, roles: Mapping[str, object] | None) -> dict[str, AssignedRoles]:
    """Load the file of users.

    Args:
        path: The file.
        roles: The roles that are defined; None: they are not known, and not judged.

    Returns:
        Each user's roles by the one spelling of the id.

    Raises:
        ConfigError: with every problem: a user who is there twice, a role that is not defined.
    """
    loaded = load_model(path, UserFile, None)
    users, document = loaded.model.users, loaded.document
    problems = [*_twice(users, document), *(() if roles is None else _undefined(users, document, roles))]
    if problems:
        raise ConfigError(problems)
    return {
        same_user(user): AssignedRoles(assigned.roles, f"{path}:{document.position(('users', user))[0]}")
        for user, assigned in users.items()
    }


def _twice(users: Mapping[str, object], document: Document) -> Iterator[Problem]:
    first: dict[str, str] = {}
    for user in users:
        other = first.setdefault(same_user(user), user)
        if other != user:
            line = document.position(("users", other))[0]
            message = f"this is the same user as {other!r} on line {line}: addresses have no case; keep one"
            yield document.problem(("users", user), message)


def _undefined(
    users: Mapping[str, UserAssignment], document: Document, roles: Mapping[str, object]
) -> Iterator[Problem]:
    for user, assigned in users.items():
        for position, role in enumerate(assigned.roles):
            if role not in roles:
                yield undefined_role(document, ("users", user, "roles", position), role, roles)
