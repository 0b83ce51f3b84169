"""Loads everything that authorization rests on, checked as one; whatever is wrong stops the start."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolmesh_contracts.access.authorization import AssignedRoles, Authorization, AuthorizationType, Role
from toolmesh_contracts.access.authorization_file import AuthorizationService, load_authorization_file
from toolmesh_contracts.access.role_file import load_roles, undefined_role
from toolmesh_contracts.access.user_file import load_users
from toolmesh_contracts.config_problems import ConfigError, ConfigPath, Problem, nearest
from toolmesh_contracts.document import Document

__all__ = ["VARIABLES", "load_authorization"]

_SECTION: Final = "authorization_service"
_TYPE: Final = "type"
_ROLES: Final = "role_to_scope_definitions_path"
_USERS: Final = "user_to_role_assignments_path"
VARIABLES: Final[Mapping[str, str]] = {
    _TYPE: "AUTHORIZATION_TYPE",
    _ROLES: "ROLE_DEFINITIONS_PATH",
    _USERS: "USER_ROLES_PATH",
}
"""Environment variables that say what the file leaves open, by its keys."""


def load_authorization(file: Path | None, variables: Mapping[str, str]) -> Authorization:
    """Load authorization from its file, from environment variables, or from both together.

    Args:
        file: The file; None: the variables say everything.
        variables: The environment, of which those in `VARIABLES` count. Their relative paths start at the working
            directory, those of the file at its folder.

    Raises:
        ConfigError: with every problem of the file and of those that it names. Nothing unreadable, undefined or
            contradictory ever means "nobody may do anything", nor "everybody may do everything".
    """
    settings = _settings(file, variables)
    if settings.problems:
        raise ConfigError(settings.problems)
    type_ = settings.type()
    if type_ is not AuthorizationType.DEFAULT_RBAC:
        return Authorization(type=type_, granted_in=settings.source)
    return _with_roles(settings)


@dataclass(frozen=True, slots=True)
class _Settings:
    """What file and variables say together."""

    source: str
    folder: Path
    document: Document | None
    service: AuthorizationService
    is_absent: bool
    given: Mapping[str, str]
    problems: tuple[Problem, ...]

    def type(self) -> AuthorizationType:
        """Return how it is decided; neither the section nor a variable means that nobody may do anything."""
        if _TYPE in self.given:
            return AuthorizationType(self.given[_TYPE])
        if self.is_absent and not self.given:
            return AuthorizationType.DENY_ALL
        # A section without a type is more likely a slip than the wish to lock everybody out.
        raise ConfigError([self.problem((_TYPE,), "this key is required", allowed=", ".join(AuthorizationType))])

    def path(self, key: str) -> Path | None:
        """Return a file that is named, absolute wherever the command runs."""
        if key not in self.given:
            return None
        return (self.folder if getattr(self.service, key) is not None else Path.cwd()) / self.given[key]

    def problem(self, path: ConfigPath, message: str, *, allowed: str = "") -> Problem:
        """Return a problem of a key of the section."""
        if self.document is None or self.is_absent:
            variable = VARIABLES.get(str(path[0]), "")
            named = f"{variable or path[0]}: {message}"
            return Problem(file=self.source, message=named, allowed=allowed)
        return self.document.problem((_SECTION, *path), message, allowed=allowed)


def _settings(file: Path | None, variables: Mapping[str, str]) -> _Settings:
    document, is_absent, service = None, True, AuthorizationService()
    if file is not None:
        loaded = load_authorization_file(file)
        document, is_absent = loaded.document, _SECTION not in loaded.model.model_fields_set
        service = loaded.model.authorization_service or service
    from_file = {key: str(value) for key in VARIABLES if (value := getattr(service, key)) is not None}
    # An empty variable is as good as none, as in a shell's ${NAME:-default}.
    from_variables = {key: variables[name] for key, name in VARIABLES.items() if variables.get(name)}
    folder = Path.cwd() if file is None else file.absolute().parent
    problems = [*_contradictions(document, folder, from_file, from_variables), *_unknown_type(from_variables)]
    return _Settings(
        source="the environment" if file is None else str(file),
        folder=folder,
        document=document,
        service=service,
        is_absent=is_absent,
        given=from_variables | from_file,
        problems=tuple(problems),
    )


def _contradictions(
    document: Document | None, folder: Path, from_file: Mapping[str, str], from_variables: Mapping[str, str]
) -> list[Problem]:
    if document is None:
        return []

    def agree(key: str) -> bool:
        said, other = from_file[key], from_variables.get(key)
        # The same text means two files where the two folders differ, and one file may be written in two ways.
        return other is None or (said == other if key == _TYPE else folder / said == Path.cwd() / other)

    return [
        document.problem(
            (_SECTION, key),
            f"the environment variable {VARIABLES[key]} says {from_variables[key]!r}; take one of the two away",
            found=repr(said),
        )
        for key, said in from_file.items()
        if not agree(key)
    ]


def _unknown_type(from_variables: Mapping[str, str]) -> list[Problem]:
    given, allowed = from_variables.get(_TYPE), list(AuthorizationType)
    if given is None or given in allowed:
        return []
    return [
        Problem(
            file="the environment",
            message=f"{VARIABLES[_TYPE]}: this value is not allowed",
            found=repr(given[:60]),
            allowed=", ".join(allowed),
            suggestion=nearest(given, allowed),
        )
    ]


def _with_roles(settings: _Settings) -> Authorization:
    """Load the roles and users, and check what names them; all problems of all files are told at once."""
    service, problems = settings.service, _lacking(settings)
    roles: dict[str, Role] | None = None
    users: dict[str, AssignedRoles] = {}
    roles_file, users_file = settings.path(_ROLES), settings.path(_USERS)
    if roles_file is not None:
        try:
            roles = load_roles(roles_file)
        except ConfigError as error:
            problems += error.problems
    if users_file is not None:
        try:
            users = load_users(users_file, roles)
        except ConfigError as error:
            problems += error.problems
    if roles is not None and settings.document is not None:
        problems += _undefined(settings.document, service, roles)
    if problems or roles is None:
        raise ConfigError(problems)
    claims = service.idp_claims_config
    return Authorization(
        type=AuthorizationType.DEFAULT_RBAC,
        roles=roles,
        users=users,
        claim_key="" if claims is None else claims.claim_key,
        claim_roles={} if claims is None else claims.mappings,
        default_roles=service.default_roles,
        granted_in=settings.source if users_file is None else str(users_file),
    )


def _lacking(settings: _Settings) -> list[Problem]:
    """Return what `default_rbac` needs and does not have, and what it has and would never use."""
    service, problems = settings.service, []
    if _ROLES not in settings.given:
        problems.append(settings.problem((_ROLES,), "this key is required: the file of roles"))
    by_claims = service.user_to_role_provider == "idp_claims"
    if not by_claims and _USERS not in settings.given:
        problems.append(settings.problem((_USERS,), "this key is required: the file of users"))
    if by_claims and service.idp_claims_config is None:
        message = "this key is required by `user_to_role_provider: idp_claims`"
        problems.append(settings.problem(("idp_claims_config",), message))
    if not by_claims and service.idp_claims_config is not None:
        message = "claims are not looked at without `user_to_role_provider: idp_claims`; add that, or take this away"
        problems.append(settings.problem(("idp_claims_config",), message))
    return problems


def _undefined(document: Document, service: AuthorizationService, roles: Mapping[str, Role]) -> list[Problem]:
    places: list[tuple[ConfigPath, str]] = [
        ((_SECTION, "default_roles", position), role) for position, role in enumerate(service.default_roles)
    ]
    if service.idp_claims_config is not None:
        places += [
            ((_SECTION, "idp_claims_config", "mappings", value, position), role)
            for value, mapped in service.idp_claims_config.mappings.items()
            for position, role in enumerate(mapped)
        ]
    return [undefined_role(document, place, role, roles) for place, role in places if role not in roles]
