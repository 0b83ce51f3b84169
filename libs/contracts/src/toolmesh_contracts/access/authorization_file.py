"""The file that turns authorization on: `authorization_service:`."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from toolmesh_contracts.access.role_file import RoleName
from toolmesh_contracts.config_fields import ConfigModel, Text
from toolmesh_contracts.model_loading import Loaded, load_model

__all__ = ["AuthorizationFile", "AuthorizationService", "IdpClaimsConfig", "load_authorization_file"]


class IdpClaimsConfig(ConfigModel):
    """Which roles follow from what an identity provider says of a person."""

    claim_key: Text
    """The claim that counts, such as `groups`."""
    mappings: Annotated[dict[Text, tuple[RoleName, ...]], Field(min_length=1)]
    """The roles of each of its values; a value has to be exactly the same."""


class AuthorizationService(ConfigModel):
    """How it is decided what a user may do."""

    type: Literal["default_rbac", "deny_all", "none"] | None = None
    """`default_rbac`: what the user's roles grant. `deny_all`: nothing. `none`: everything, to everybody.
    It may be left to the variable AUTHORIZATION_TYPE, and to nothing else."""
    role_to_scope_definitions_path: Text | None = None
    """The file of roles; relative to this file's folder."""
    user_to_role_assignments_path: Text | None = None
    """The file of users; relative to this file's folder."""
    user_to_role_provider: Literal["file", "idp_claims"] = "file"
    """`idp_claims`: roles follow from claims too, besides the file of users, if there is one."""
    idp_claims_config: IdpClaimsConfig | None = None
    """Needed with `idp_claims`."""
    default_roles: tuple[RoleName, ...] = ()
    """Roles of those to whom neither the file of users nor a claim assigns any."""


class AuthorizationFile(ConfigModel):
    """The whole file."""

    authorization_service: AuthorizationService | None = None
    """Absent: `deny_all`."""


def load_authorization_file(path: Path) -> Loaded[AuthorizationFile]:
    """Load the file. `${VARIABLES}` are not filled in: what users may do must not depend on who runs a command.

    Raises:
        ConfigError: with every problem of it.
    """
    return load_model(path, AuthorizationFile, None)
