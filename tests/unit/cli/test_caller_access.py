"""Which scopes a command has on behalf of a user."""

from pathlib import Path

import pytest
from tests.support.access_files import AUTHORIZATION, BY_CLAIMS, ROLES, USERS, write_access

from toolmesh_cli.caller_access import caller_of, mesh_authorization, shown_access
from toolmesh_cli.doctor.finding import State
from toolmesh_cli.doctor.mesh import authorization_finding
from toolmesh_cli.mesh_authorization import authorization_source, read_source, tell_authorization
from toolmesh_cli.mesh_state import MeshState, write_state
from toolmesh_cli.terminal import Terminal
from toolmesh_contracts.config_problems import ConfigError
from toolmesh_contracts.errors import ErrorCode, ToolmeshError

OFF = "authorization_service: {type: none}"
DENIED = "authorization_service: {type: deny_all}"


def mesh_of(folder: Path, file: Path | None, variables: dict[str, str] | None = None) -> Path:
    """The data folder of a mesh that was started with this authorization."""
    source = authorization_source(file, variables or {})
    write_state(folder, MeshState(pool="default", workers=1, agents=(), authorization=source))
    return folder


def refused(folder: Path, user: str, hints: list[str] | None = None) -> ToolmeshError:
    with pytest.raises(ToolmeshError) as caught:
        caller_of(folder, user, hints)
    return caught.value


@pytest.mark.requirement("access:exactly")
def test_a_user_has_exactly_the_scopes_of_their_roles(tmp_path: Path) -> None:
    """Under the one spelling of their id."""
    mesh = mesh_of(tmp_path, write_access(tmp_path))

    assert caller_of(mesh, "ANN@example.com", None) == ("ann@example.com", ("tool:alarm:*", "agent:weather:invoke"))
    assert caller_of(mesh, "bob", None) == ("bob", ("agent:weather:invoke",))


@pytest.mark.requirement("access:exactly")
def test_an_unknown_user_has_none_and_is_told_who_may_give_some(tmp_path: Path) -> None:
    """One error, with the file in which roles are given; a role that grants nothing is told by its name."""
    users = USERS + "  zoe: {roles: [idle]}\n"
    mesh = mesh_of(tmp_path, write_access(tmp_path, roles=ROLES + "  idle: {}\n", users=users))

    error = refused(mesh, "eve o'neil")
    assert (error.code, error.message) == (
        ErrorCode.PERMISSION_DENIED,
        'the user "eve o\'neil" has no role, so no scope',
    )
    assert f"whoever writes {tmp_path / 'users.yaml'} may give one" in error.hint
    assert "only roles that grant nothing (idle)" in refused(mesh, "zoe").message
    assert refused(mesh, "eve", ["agent:weather:invoke"]).code is ErrorCode.PERMISSION_DENIED
    assert refused(mesh, "system:eval").code is ErrorCode.AUTHENTICATION_FAILED


@pytest.mark.requirement("access:narrowing")
def test_scopes_on_the_command_line_only_take_away(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What the user does not have is left out and told; if nothing is left, there is no call."""
    mesh = mesh_of(tmp_path, write_access(tmp_path))

    hints = ["tool:alarm:write", "tool:*:*", "*"]
    assert caller_of(mesh, "ann@example.com", hints) == ("ann@example.com", ("tool:alarm:write",))
    assert "does not have it: tool:*:*, *" in capsys.readouterr().err
    assert "does not have the scope *" in refused(mesh, "ann@example.com", ["*"]).message
    assert refused(mesh, "bob", []).code is ErrorCode.PERMISSION_DENIED


@pytest.mark.requirement("access:exactly")
def test_without_authorization_nobody_gets_the_owners_rights_by_a_name(tmp_path: Path) -> None:
    """A user alone is refused; the scopes can still be said, by the owner who holds the keys anyway."""
    mesh = mesh_of(tmp_path, None)

    error = refused(mesh, "ann")
    assert error.code is ErrorCode.PERMISSION_DENIED
    assert "--authorization FILE" in error.hint
    assert caller_of(mesh, "ann", ["x:y:z"]) == ("ann", ("x:y:z",))
    assert refused(mesh, "system:eval", ["x:y:z"]).code is ErrorCode.AUTHENTICATION_FAILED
    with pytest.raises(ToolmeshError, match="no roles and users"):
        mesh_authorization(mesh)


@pytest.mark.requirement("access:edits")
def test_files_are_read_anew_and_a_broken_one_lets_nobody_in(tmp_path: Path) -> None:
    """An edit counts from the next command on; whoever had rights before has none while a file is broken."""
    mesh = mesh_of(tmp_path, write_access(tmp_path))
    write_access(tmp_path, roles=ROLES.replace("tool:alarm:*", "tool:lamp:*"))
    assert caller_of(mesh, "ann@example.com", None)[1] == ("tool:lamp:*", "agent:weather:invoke")

    write_access(tmp_path, roles=ROLES.replace("[reader]", "[raeder]"))
    with pytest.raises(ConfigError, match=r"roles\.yaml:6"):
        caller_of(mesh, "ann@example.com", None)
    (tmp_path / "roles.yaml").unlink()
    with pytest.raises(ConfigError, match="can't read the file"):
        caller_of(mesh, "bob", ["agent:weather:invoke"])


@pytest.mark.requirement("access:variables")
def test_the_environment_of_a_command_decides_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only that of `toolmesh up` does, with its working directory."""
    write_access(tmp_path / "access")
    monkeypatch.chdir(tmp_path / "access")
    given = {
        "AUTHORIZATION_TYPE": "default_rbac",
        "ROLE_DEFINITIONS_PATH": "roles.yaml",
        "USER_ROLES_PATH": "users.yaml",
    }
    mesh = mesh_of(tmp_path, None, given)
    monkeypatch.chdir("/")
    monkeypatch.setenv("AUTHORIZATION_TYPE", "none")

    assert caller_of(mesh, "bob", None) == ("bob", ("agent:weather:invoke",))
    assert refused(mesh, "eve").code is ErrorCode.PERMISSION_DENIED
    assert authorization_source(None, {"AUTHORIZATION_TYPE": "", "PATH": "/bin"}) is None


def test_claims_and_system_users_can_be_looked_at(tmp_path: Path) -> None:
    """A claim may have several values; what is no claim, or nobody, is wrong usage."""
    authorization = mesh_authorization(
        mesh_of(tmp_path, write_access(tmp_path, authorization=AUTHORIZATION + BY_CLAIMS))
    )

    access = shown_access(authorization, "zoe", ["groups=a=b", "groups=planning-team"])
    assert [(role.name, role.detail) for role in access.roles] == [
        ("planner", "groups=planning-team"),
        ("reader", "planner"),
    ]
    assert shown_access(authorization, "system:eval", []).scopes[-1] == "tool:*:*"
    for user, claims in (("zoe", ["groups"]), ("zoe", ["=x"]), ("unknown", []), ("", [])):
        with pytest.raises(ToolmeshError) as caught:
            shown_access(authorization, user, claims)
        assert caught.value.code is ErrorCode.INVALID_REQUEST


@pytest.mark.requirement("access:off-is-told")
def test_authorization_that_is_off_is_told_at_the_start_and_by_the_doctor(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As a warning with its cure; so is one that locks everybody out, and a broken one is a problem."""
    file = write_access(tmp_path, authorization=OFF)
    source = authorization_source(file, {})
    assert source is not None
    for text, state, told in (
        (OFF, State.WARNING, "everybody may call everything"),
        (DENIED, State.WARNING, "nobody but the mesh's owner"),
        (AUTHORIZATION, State.OK, "2 roles, 2 users in the file"),
    ):
        write_access(tmp_path, authorization=text)
        tell_authorization(read_source(source), Terminal.stderr())
        said = capsys.readouterr().err
        assert told in said
        assert ("warning:" in said) is (state is State.WARNING)
        finding = authorization_finding(source)
        assert (finding.state, bool(finding.cure)) == (state, state is State.WARNING)
        assert told in finding.detail
    file.write_text("{")
    assert authorization_finding(source).state is State.PROBLEM
    assert authorization_finding(None).state is State.SKIPPED
    write_access(tmp_path, authorization=DENIED)
    assert "`deny_all`, for everybody" in refused(mesh_of(tmp_path, file), "bob").message
