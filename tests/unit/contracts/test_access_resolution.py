"""From an identity to roles, reasons and scopes."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.access_files import AUTHORIZATION, BY_CLAIMS, USERS, write_access

from toolmesh_contracts.access.authorization import Authorization, AuthorizationType, Role
from toolmesh_contracts.access.capabilities import capabilities
from toolmesh_contracts.access.loading import load_authorization
from toolmesh_contracts.access.resolution import (
    Access,
    ReservedSubjectError,
    access_of_person,
    access_of_system_user,
)
from toolmesh_contracts.access.user_ids import same_user
from toolmesh_contracts.errors import ErrorCode, ToolmeshError


@pytest.fixture
def authorization(tmp_path: Path) -> Authorization:
    """Users in a file, a claim that counts, and a default role."""
    return load_authorization(write_access(tmp_path, authorization=AUTHORIZATION + BY_CLAIMS), {})


def reasons(access: Access) -> list[tuple[str, str, str]]:
    return [(role.name, role.source.value, role.detail.rpartition("/")[2]) for role in access.roles]


def test_roles_include_others_and_say_why_they_are_held(authorization: Authorization) -> None:
    """An assigned role comes with its place, an included one with the role that includes it."""
    access = access_of_person(authorization, "ann@example.com")

    assert reasons(access) == [("planner", "file", "users.yaml:2"), ("reader", "inherited", "planner")]
    assert access.scopes == ("tool:alarm:*", "agent:weather:invoke")


def test_addresses_have_no_case_and_other_ids_do(authorization: Authorization) -> None:
    """Whoever is listed under one spelling of an address is meant by all; `bob` and `Bob` are two."""
    access = access_of_person(authorization, "ANN@example.COM")

    assert access.subject == "ann@example.com"
    assert "tool:alarm:*" in access.scopes
    assert reasons(access_of_person(authorization, "bob"))[0][1] == "file"
    assert reasons(access_of_person(authorization, "Bob")) == [("reader", "default", "")]
    # The Kelvin sign becomes an ASCII letter in lower case: it is another person's address all the same.
    assert same_user("ann@\u212aelvin.com") != same_user("ann@Kelvin.com")


@pytest.mark.parametrize("groups", ["planning-team", ["x", "planning-team"], ("planning-team", 7, None)])
def test_a_claims_value_gives_its_roles(authorization: Authorization, groups: object) -> None:
    """A text, or one of several; what the other values are does not matter."""
    access = access_of_person(authorization, "zoe", {"groups": groups, "teams": "x"})

    assert reasons(access) == [("planner", "claim", "groups=planning-team"), ("reader", "inherited", "planner")]


@pytest.mark.parametrize(
    "claims",
    [
        {"groups": "Planning-Team"},
        {"groups": "planning-team "},
        {"groups": "planning-team,x"},
        {"groups": "planning-*"},
        {"groups": {"planning-team": True}},
        {"groups": [["planning-team"]]},
        {"groups": None},
        {"group": "planning-team"},
        {"": "planning-team"},
    ],
)
def test_only_the_one_claim_and_the_exact_value_count(authorization: Authorization, claims: dict[str, object]) -> None:
    """Another case, white space, lists in one text, wildcards, other types and other claims give nothing."""
    assert reasons(access_of_person(authorization, "zoe", claims)) == [("reader", "default", "")]


def test_file_and_claims_are_added_up(authorization: Authorization) -> None:
    """Each role once, with its first reason."""
    access = access_of_person(authorization, "bob", {"groups": "planning-team"})

    assert [role[:2] for role in reasons(access)] == [("reader", "file"), ("planner", "claim")]
    assert set(access.scopes) == {"agent:weather:invoke", "tool:alarm:*"}


def test_default_roles_are_for_those_to_whom_nothing_is_assigned(tmp_path: Path) -> None:
    """Being listed without a role, or mapped to none, is an assignment: it takes away the default."""
    file = write_access(tmp_path, authorization=AUTHORIZATION + BY_CLAIMS, users=USERS + "  eve: {roles: []}\n")
    authorization = load_authorization(file, {})

    assert reasons(access_of_person(authorization, "zoe")) == [("reader", "default", "")]
    assert access_of_person(authorization, "eve").scopes == ()
    assert access_of_person(authorization, "zoe", {"groups": "nobody"}).scopes == ()
    assert access_of_person(replace(authorization, default_roles=()), "zoe").scopes == ()


@pytest.mark.parametrize("subject", ["system:default", "system:", "SYSTEM:eval", " system:x", "\tSystem:x"])
@pytest.mark.requirement("access:system-users")
def test_nobody_signs_in_as_a_system_user(authorization: Authorization, subject: str) -> None:
    """Not in another case or behind white space either, and not with authorization switched off."""
    for type_ in AuthorizationType:
        with pytest.raises(ReservedSubjectError) as caught:
            access_of_person(replace(authorization, type=type_), subject, {"groups": "planning-team"})
        assert caught.value.code is ErrorCode.AUTHENTICATION_FAILED


@pytest.mark.requirement("access:system-users")
def test_system_users_have_what_is_built_in_or_listed(tmp_path: Path) -> None:
    """The file of users replaces what is built in; one who is in neither may do nothing, by default too."""
    users = (
        USERS
        + "  system:eval: {roles: [reader]}\n  system:nightly: {roles: [planner]}\n  system:channel: {roles: []}\n"
    )
    authorization = load_authorization(write_access(tmp_path, authorization=AUTHORIZATION + BY_CLAIMS, users=users), {})
    plain = replace(authorization, users={})

    assert access_of_system_user(plain, "system:default").scopes == ("agent:*:invoke", "workflow:*:invoke")
    assert access_of_system_user(plain, "system:channel").scopes == ("agent:*:invoke", "workflow:*:invoke")
    assert access_of_system_user(plain, "system:eval").scopes == ("agent:*:invoke", "workflow:*:invoke", "tool:*:*")
    assert access_of_system_user(plain, "system:nightly").scopes == ()
    assert access_of_system_user(plain, "system:Default").scopes == ()
    assert access_of_system_user(authorization, "system:eval").scopes == ("agent:weather:invoke",)
    assert access_of_system_user(authorization, "system:nightly").scopes == ("tool:alarm:*", "agent:weather:invoke")
    assert access_of_system_user(authorization, "system:channel").scopes == ()
    with pytest.raises(ValueError, match="no system user"):
        access_of_system_user(authorization, "bob")


@pytest.mark.requirement("access:modes")
def test_none_gives_everything_and_deny_all_nothing(authorization: Authorization) -> None:
    """Whoever it is, and whatever roles they have."""
    for user in ("ann@example.com", "zoe"):
        assert access_of_person(replace(authorization, type=AuthorizationType.NONE), user).scopes == ("*",)
        assert access_of_person(replace(authorization, type=AuthorizationType.DENY_ALL), user).scopes == ()
    denied = replace(authorization, type=AuthorizationType.DENY_ALL)
    assert access_of_system_user(denied, "system:default").scopes == ()


def test_an_undefined_role_never_gets_as_far_as_a_user() -> None:
    """Not in a program that makes authorization without the files, either."""
    for changes in (
        {"default_roles": ("gone",)},
        {"claim_roles": {"x": ("gone",)}},
        {"roles": {"a": Role(name="a", inherits=("gone",))}},
    ):
        with pytest.raises(ValueError, match="not defined: gone"):
            Authorization(type=AuthorizationType.DEFAULT_RBAC, **changes)


@pytest.mark.requirement("access:capabilities")
def test_capabilities_tell_what_is_held_and_what_is_missing(authorization: Authorization) -> None:
    """With the way it was decided, so that `none` is seen in the answer."""
    answer = capabilities(access_of_person(authorization, "bob"), ["agent:weather:invoke", "tool:alarm:write"])

    assert (answer.type, answer.held, answer.missing) == (
        AuthorizationType.DEFAULT_RBAC,
        ("agent:weather:invoke",),
        ("tool:alarm:write",),
    )
    assert not answer.all_held
    assert capabilities(access_of_person(authorization, "bob"), ["agent:weather:invoke"]).all_held
    off = capabilities(access_of_person(replace(authorization, type=AuthorizationType.NONE), "bob"), ["tool:x:y"])
    assert (off.type, off.all_held) == (AuthorizationType.NONE, True)


@pytest.mark.requirement("access:capabilities")
def test_capabilities_are_never_all_true_for_nothing(authorization: Authorization) -> None:
    """Nothing asked for, nothing held, and texts that are no scope: none of it is a yes."""
    everything = Access(subject="root", type=AuthorizationType.DEFAULT_RBAC, scopes=("*",))
    for asked in ([], ["agent:x"], [""], ["agent:x:invoke", "a b"], ["**"]):
        with pytest.raises(ToolmeshError) as caught:
            capabilities(everything, asked)
        assert caught.value.code is ErrorCode.INVALID_REQUEST
    nothing = capabilities(access_of_person(replace(authorization, default_roles=()), "zoe"), ["agent:weather:invoke"])
    assert (nothing.held, nothing.all_held) == ((), False)
