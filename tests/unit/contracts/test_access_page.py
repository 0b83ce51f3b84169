"""The files of docs/access.md work as they stand there."""

import re
from pathlib import Path

import pytest

from toolmesh_contracts.access.capabilities import capabilities
from toolmesh_contracts.access.loading import load_authorization
from toolmesh_contracts.access.resolution import access_of_person
from toolmesh_contracts.agent_config.loading import load_agent_file

PAGE = Path(__file__).parents[3] / "docs" / "access.md"


@pytest.mark.requirement("access:two-users")
def test_the_pages_files_let_two_users_do_different_things(tmp_path: Path) -> None:
    """One may use the gated tool, the other the agent alone; the claims of the second example do the same."""
    agent, roles, users, authorization, by_claims = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    for name, text in (
        ("desk", agent),
        ("roles", roles),
        ("users", users),
        ("authorization", authorization),
        ("by_claims", by_claims),
    ):
        (tmp_path / f"{name}.yaml").write_text(text)
    (desk,) = load_agent_file(tmp_path / "desk.yaml", {}).agents
    asked = ["agent:desk:invoke", *(scope for tool in desk.tools for scope in tool.entry.required_scopes)]
    assert len(asked) == 2

    in_file = load_authorization(tmp_path / "authorization.yaml", {})
    assert capabilities(access_of_person(in_file, "ann@example.com"), asked).all_held
    assert capabilities(access_of_person(in_file, "bob@example.com"), asked).missing == ("tool:warnings:read",)
    claims = load_authorization(tmp_path / "by_claims.yaml", {})
    assert capabilities(access_of_person(claims, "zoe", {"groups": ["weather-team"]}), asked).all_held
    assert capabilities(access_of_person(claims, "zoe"), asked).missing == ("tool:warnings:read",)
