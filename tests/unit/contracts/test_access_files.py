"""The files of authorization: what is wrong with them stops the start, and is told with file, line and role."""

from pathlib import Path

import pytest
from tests.support.access_files import AUTHORIZATION, BY_CLAIMS, ROLES, USERS, write_access

from toolmesh_contracts.access.authorization import AuthorizationType
from toolmesh_contracts.access.loading import load_authorization
from toolmesh_contracts.access.role_file import load_roles
from toolmesh_contracts.config_problems import ConfigError

ABSENT = "# nothing yet\n{}\n"


def refused(file: Path | None, variables: dict[str, str] | None = None) -> str:
    """What is said of files that can't be used."""
    with pytest.raises(ConfigError) as caught:
        load_authorization(file, variables or {})
    return caught.value.message


def test_sound_files_are_loaded_as_one(tmp_path: Path) -> None:
    """Paths start at the folder of the file that names them; a user is known by the one spelling of the id."""
    authorization = load_authorization(write_access(tmp_path), {})

    assert authorization.type is AuthorizationType.DEFAULT_RBAC
    assert authorization.roles["planner"].inherits == ("reader",)
    assert authorization.users["ann@example.com"].roles == ("planner",)
    assert authorization.users["bob"].place == f"{tmp_path / 'users.yaml'}:3"
    assert authorization.granted_in == str(tmp_path / "users.yaml")


@pytest.mark.requirement("access:modes")
def test_only_three_types_are_known(tmp_path: Path) -> None:
    """`default` and other words are refused with what is allowed, whatever they may have meant."""
    for word in ("default", "rbac", "None", "true", "custom"):
        said = refused(write_access(tmp_path, authorization=f"authorization_service: {{type: '{word}'}}"))
        assert "authorization.yaml:1: authorization_service.type: this value is not allowed" in said
        assert "allowed: default_rbac, deny_all, none" in said
    assert "did you mean 'default_rbac'?" in refused(
        write_access(tmp_path, authorization="authorization_service: {type: default}")
    )
    for word in ("none", "deny_all"):
        file = write_access(tmp_path, authorization=f"authorization_service: {{type: {word}}}", roles="{")
        assert load_authorization(file, {}).type == word


@pytest.mark.requirement("access:modes")
def test_nothing_said_means_that_nobody_may_do_anything(tmp_path: Path) -> None:
    """An absent section is deny_all; one without a type is a slip, and is told."""
    assert load_authorization(write_access(tmp_path, authorization=ABSENT), {}).type is AuthorizationType.DENY_ALL
    said = refused(write_access(tmp_path, authorization=AUTHORIZATION.replace("  type: default_rbac\n", "")))
    assert "authorization_service.type: this key is required; allowed: default_rbac, deny_all, none" in said


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"roles": ROLES.replace("[reader]", "[raeder]")},
         "roles.yaml:6: roles.planner.inherits[0]: the role 'raeder' is not defined; did you mean 'reader'?"),
        ({"roles": "roles:\n  a: {inherits: [b]}\n  b: {inherits: [c]}\n  c: {inherits: [a]}\n"},
         "roles.yaml:2: roles.a.inherits: roles inherit from themselves: a -> b -> c -> a"),
        ({"roles": "roles:\n  a: {inherits: [a]}\n"}, "roles inherit from themselves: a -> a"),
        ({"roles": "roles:\n  a:\n    scopes: [agent:x:invoke, agent:x]\n"},
         "roles.yaml:3: roles.a.scopes[1]: this is no scope: write <category>:<resource>:<verb>"),
        ({"roles": "roles: {a: {scopes: ['agent:x y:invoke']}}"}, "roles.a.scopes[0]: this grants nothing"),
        ({"roles": "roles: {a: {scopes: ['**:*:*']}}"}, "roles.a.scopes[0]: this grants nothing"),
        ({"roles": ""}, "roles.yaml:1: should be a mapping"),
        ({"users": "users:\n"}, "users.yaml:1: users: should be a mapping"),
        ({"authorization": ""}, "authorization.yaml:1: should be a mapping"),
        ({"authorization": "authorization_service:\n"}, "authorization_service.type: this key is required"),
        ({"roles": "roles: {a: {scopes: ['agent:[ab]:invoke']}}"}, "`*` is the only wildcard"),
        ({"roles": "roles: {a: {scopes: ['**']}}"}, "this grants nothing"),
        ({"roles": "roles: {a: {scope: []}}"}, "roles.a.scope: unknown key; did you mean 'scopes'?"),
        ({"roles": "roles: {'a b': {}}"}, "a role's name is"),
        ({"roles": "roles:\n  a: {}\n  a: {}\n"}, "roles.yaml:3: the key 'a' is there twice"),
        ({"users": USERS.replace("[planner]", "[plannr]")},
         "users.yaml:2: users[\"Ann@Example.com\"].roles[0]: the role 'plannr' is not defined; did you mean 'planner'?"),
        ({"users": USERS + "  ann@example.com: {roles: []}\n"},
         "users.yaml:4: users[\"ann@example.com\"]: this is the same user as 'Ann@Example.com' on line 2"),
        ({"users": "users: {' bob': {roles: []}}"}, "a user's id is"),
        ({"users": "users: {'System:default': {roles: []}}"}, "ids of system users begin with 'system:'"),
        ({"users": "users: {bob: {}}"}, "users.bob.roles: this key is required"),
        ({"users": "users: {bob: {rolls: [reader], roles: []}}"}, "did you mean 'roles'?"),
        ({"authorization": AUTHORIZATION + "  default_roles: [reader, raeder]\n"},
         "authorization.yaml:5: authorization_service.default_roles[1]: the role 'raeder' is not defined"),
        ({"authorization": AUTHORIZATION + BY_CLAIMS.replace("[planner]", "[plannr]")},
         "authorization.yaml:9: authorization_service.idp_claims_config.mappings.planning-team[0]: the role 'plannr'"),
        ({"authorization": AUTHORIZATION + "  user_to_role_provider: idp_claims\n"},
         "idp_claims_config: this key is required by `user_to_role_provider: idp_claims`"),
        ({"authorization": AUTHORIZATION + BY_CLAIMS.replace("  user_to_role_provider: idp_claims\n", "")},
         "claims are not looked at without"),
        ({"authorization": AUTHORIZATION.replace("roles.yaml", "gone.yaml")},
         "gone.yaml: can't read the file: No such file or directory"),
        ({"authorization": AUTHORIZATION.replace("users.yaml", "gone.yaml")}, "gone.yaml: can't read the file"),
        ({"authorization": "authorization_service: {type: default_rbac, user_to_role_assignments_path: users.yaml}"},
         "role_to_scope_definitions_path: this key is required"),
        ({"authorization": "authorization_service: {type: default_rbac, role_to_scope_definitions_path: roles.yaml}"},
         "user_to_role_assignments_path: this key is required"),
        ({"authorization": AUTHORIZATION.replace("default_rbac", "${AUTHORIZATION_TYPE}")}, "this value is not allowed"),
        ({"authorization": "authorisation_service: {type: none}"}, "did you mean 'authorization_service'?"),
    ],
)  # fmt: skip
@pytest.mark.requirement("access:mistakes")
def test_every_mistake_is_a_start_up_error_with_its_place(tmp_path: Path, changes: dict[str, str], said: str) -> None:
    """Never a role that silently grants nothing, and never an authorization that is silently off."""
    assert said in refused(write_access(tmp_path, **changes), {"AUTHORIZATION_TYPE": ""})


@pytest.mark.requirement("access:mistakes")
def test_an_unreadable_role_file_stops_the_start(tmp_path: Path) -> None:
    """A folder, bytes that are no text, and broken YAML: each is named, and what is wrong with the users as well."""
    file = write_access(tmp_path, users="users: {bob: {}}")
    (tmp_path / "roles.yaml").write_bytes(b"roles: \xff")
    said = refused(file)
    assert "roles.yaml:1: byte 7 (0xff) is not UTF-8" in said
    assert "users.yaml:1: users.bob.roles: this key is required" in said
    (tmp_path / "roles.yaml").write_text("roles: {")
    assert "this is not valid YAML" in refused(file)
    (tmp_path / "roles.yaml").unlink()
    (tmp_path / "roles.yaml").mkdir()
    assert "this is no regular file" in refused(file)


def test_every_cycle_is_told_once(tmp_path: Path) -> None:
    """However many roles lead into it, and however deep."""
    (tmp_path / "roles.yaml").write_text(
        "roles:\n  x: {inherits: [a]}\n  y: {inherits: [b, z]}\n  a: {inherits: [b]}\n  b: {inherits: [a]}\n  z: {}\n"
        "  p: {inherits: [q]}\n  q: {inherits: [p]}\n"
    )
    with pytest.raises(ConfigError) as caught:
        load_roles(tmp_path / "roles.yaml")
    assert [problem.message.rpartition(": ")[2] for problem in caught.value.problems] == ["a -> b -> a", "p -> q -> p"]
    chain = "".join(f"  r{number}: {{inherits: [r{number + 1}]}}\n" for number in range(3000))
    (tmp_path / "roles.yaml").write_text(f"roles:\n{chain}  r3000: {{}}\n")
    assert len(load_roles(tmp_path / "roles.yaml")) == 3001


def test_a_declared_tools_opaque_scope_can_be_granted(tmp_path: Path) -> None:
    """It is no scope of three segments, and none of a known category."""
    (tmp_path / "roles.yaml").write_text("roles: {a: {scopes: ['tools:read', 'tools:*', '*', 'x:_:y']}}")
    assert load_roles(tmp_path / "roles.yaml")["a"].scopes == ("tools:read", "tools:*", "*", "x:_:y")


@pytest.mark.requirement("access:variables")
def test_variables_say_what_the_file_leaves_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a file that lacks the keys, or without any file; their relative paths start where the command runs."""
    file = write_access(tmp_path / "access", authorization=ABSENT)
    monkeypatch.chdir(tmp_path / "access")
    variables = {
        "AUTHORIZATION_TYPE": "default_rbac",
        "ROLE_DEFINITIONS_PATH": "roles.yaml",
        "USER_ROLES_PATH": str(tmp_path / "access" / "users.yaml"),
    }
    for place in (file, None):
        assert "ann@example.com" in load_authorization(place, variables).users
    assert load_authorization(None, {"AUTHORIZATION_TYPE": "none"}).type is AuthorizationType.NONE


@pytest.mark.requirement("access:variables")
def test_variables_never_overrule_the_file(tmp_path: Path) -> None:
    """What contradicts it stops the start: nobody could know which of the two was meant."""
    file = write_access(tmp_path)
    said = refused(file, {"AUTHORIZATION_TYPE": "none"})
    assert (
        "authorization.yaml:2: authorization_service.type: the environment variable AUTHORIZATION_TYPE says 'none'"
        in said
    )
    assert "USER_ROLES_PATH says" in refused(file, {"USER_ROLES_PATH": "/elsewhere.yaml"})
    # The same text is another file where the command runs elsewhere, and the same file may be written in full.
    assert "USER_ROLES_PATH says" in refused(file, {"USER_ROLES_PATH": "users.yaml"})
    same = {"AUTHORIZATION_TYPE": "default_rbac", "USER_ROLES_PATH": str(tmp_path / "users.yaml")}
    assert load_authorization(file, same).type is AuthorizationType.DEFAULT_RBAC


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"AUTHORIZATION_TYPE": "default"}, "AUTHORIZATION_TYPE: this value is not allowed; found 'default'"),
        ({"ROLE_DEFINITIONS_PATH": "/x"}, "AUTHORIZATION_TYPE: this key is required"),
        ({"AUTHORIZATION_TYPE": "default_rbac"}, "ROLE_DEFINITIONS_PATH: this key is required"),
        ({"AUTHORIZATION_TYPE": "default_rbac", "ROLE_DEFINITIONS_PATH": "/gone.yaml", "USER_ROLES_PATH": "/lost.yaml"},
         "/gone.yaml: can't read the file"),
    ],
)  # fmt: skip
@pytest.mark.requirement("access:variables")
def test_a_mistake_in_a_variable_names_it(variables: dict[str, str], said: str) -> None:
    """Nobody has to guess which file it stands in."""
    assert said in refused(None, variables)
