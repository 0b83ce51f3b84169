"""Files of authorization, as an operator writes them."""

from collections.abc import Mapping
from pathlib import Path

AUTHORIZATION = """
authorization_service:
  type: default_rbac
  role_to_scope_definitions_path: roles.yaml
  user_to_role_assignments_path: users.yaml
"""
ROLES = """
roles:
  reader:
    description: Asks.
    scopes: ["agent:weather:invoke"]
  planner:
    inherits: [reader]
    scopes: ["tool:alarm:*"]
"""
USERS = """
users:
  Ann@Example.com: {roles: [planner]}
  bob: {roles: [reader]}
"""
BY_CLAIMS = """
  user_to_role_provider: idp_claims
  idp_claims_config:
    claim_key: groups
    mappings: {planning-team: [planner], nobody: []}
  default_roles: [reader]
"""


def write_access(folder: Path, **texts: str) -> Path:
    """Writes the three files, each with the given text instead of a sound one; returns the first."""
    files: Mapping[str, str] = {"authorization": AUTHORIZATION, "roles": ROLES, "users": USERS} | texts
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text.lstrip("\n"))
    return folder / "authorization.yaml"
