"""Modes, files, roles and users (section 2)."""

from tests.reference.rbac_places import (
    AGENTS_ASKED,
    BROKEN_START,
    CALLER,
    FILES,
    NO_AUTHORIZATION,
    RESOLUTION,
    SYSTEM_USERS,
    USERS_AT_WORK,
    not_there,
)
from tests.reference.row import Row

_PEOPLE = "who somebody is, is settled before there is a call: workers get scopes alone"

ROWS = [
    Row(
        "2:modes",
        "`none`, `default_rbac` and `deny_all`, which an absent section means; `default` and others are refused.",
        (
            USERS_AT_WORK,
            f"{FILES}::test_only_three_types_are_known",
            f"{FILES}::test_nothing_said_means_that_nobody_may_do_anything",
            f"{RESOLUTION}::test_none_gives_everything_and_deny_all_nothing",
            f"{CALLER}::test_authorization_that_is_off_is_told_at_the_start_and_by_the_doctor",
        ),
        differs="a section without a type is an error: it would lock everybody out without a word",
    ),
    Row(
        "2:files",
        "The two files and their three variables; addresses have no case, other ids do.",
        (
            USERS_AT_WORK,
            f"{FILES}::test_sound_files_are_loaded_as_one",
            f"{FILES}::test_variables_say_what_the_file_leaves_open",
            f"{FILES}::test_variables_never_overrule_the_file",
            f"{RESOLUTION}::test_addresses_have_no_case_and_other_ids_do",
            f"{CALLER}::test_the_environment_of_a_command_decides_nothing",
        ),
    ),
    Row(
        "2:default-roles",
        "For those to whom nothing is assigned; an undefined name stops the start.",
        (
            f"{RESOLUTION}::test_default_roles_are_for_those_to_whom_nothing_is_assigned",
            f"{FILES}::test_every_mistake_is_a_start_up_error_with_its_place",
            AGENTS_ASKED,
        ),
    ),
    Row(
        "2:unreadable-roles",
        "The mesh does not start; a file that breaks later fails each call of a user, by name.",
        (
            BROKEN_START,
            USERS_AT_WORK,
            f"{FILES}::test_an_unreadable_role_file_stops_the_start",
            f"{CALLER}::test_files_are_read_anew_and_a_broken_one_lets_nobody_in",
        ),
        differs="nobody should have to search for rights that a typing error took away",
    ),
    Row(
        "2:trust-off",
        "There is no way to pass over roles: calls are always signed, and without roles a user has nothing.",
        (
            NO_AUTHORIZATION,
            USERS_AT_WORK,
            f"{CALLER}::test_without_authorization_nobody_gets_the_owners_rights_by_a_name",
            "tests/unit/runtime/test_admission.py::test_forged_calls_are_refused_before_the_body_is_read",
        ),
        differs="fail closed; only `type: none`, written by hand and warned of, opens everything",
    ),
    Row(
        "2:idp-claims",
        "One claim counts, and only values that are exactly the same.",
        (
            f"{RESOLUTION}::test_a_claims_value_gives_its_roles",
            f"{RESOLUTION}::test_only_the_one_claim_and_the_exact_value_count",
        ),
        apart=_PEOPLE,
    ),
    Row(
        "2:resolution",
        "Roles of the file of users and of claims are added up, with those they inherit.",
        (
            f"{RESOLUTION}::test_file_and_claims_are_added_up",
            f"{RESOLUTION}::test_roles_include_others_and_say_why_they_are_held",
        ),
        apart=_PEOPLE,
    ),
    not_there(
        "2:resolution-database",
        "Roles of a database are added, too.",
        "there is no database of roles",
    ),
    not_there(
        "2:database-names",
        "A role of the database can't have the name of one in a file (409).",
        "there is no database of roles",
    ),
    Row(
        "2:system-users",
        "Three are built in, others are listed, nobody signs in as one, and an unknown one may do nothing.",
        (
            AGENTS_ASKED,
            SYSTEM_USERS,
            f"{RESOLUTION}::test_nobody_signs_in_as_a_system_user",
            f"{RESOLUTION}::test_system_users_have_what_is_built_in_or_listed",
        ),
    ),
]
