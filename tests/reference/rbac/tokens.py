"""Tokens, delegation and answers about scopes (section 2)."""

from tests.reference.rbac_places import (
    CALLER,
    NARROWING,
    RESOLUTION,
    TASKS,
    TOKENS,
    USERS_AT_WORK,
    WORKER_ALONE,
    not_there,
)
from tests.reference.row import Row

ROWS = [
    Row(
        "2:token",
        "Signed: who, scopes, task; an hour unless said otherwise, a day at most; only verified claims count.",
        (
            WORKER_ALONE,
            f"{TOKENS}::test_a_minted_token_gives_its_claims_back",
            f"{TOKENS}::test_a_lifetime_is_one_second_to_one_day",
            f"{TOKENS}::test_a_token_expires_after_its_leeway",
            f"{TOKENS}::test_leeway_is_bounded",
            "tests/unit/runtime/test_admission.py::test_signed_call_with_a_bad_token_is_refused_and_its_caller_told",
        ),
        differs="clocks may differ by 30 s, and by 300 s only where that is set",
    ),
    Row(
        "2:unsigned-hints",
        "Scopes that nobody signed narrow a token; wider ones are dropped, with a warning.",
        (
            USERS_AT_WORK,
            f"{NARROWING}::test_no_hint_ever_widens",
            f"{NARROWING}::test_a_hint_that_is_wider_is_dropped_whole",
            f"{CALLER}::test_scopes_on_the_command_line_only_take_away",
        ),
    ),
    not_there(
        "2:token-of-the-entrypoint",
        "The entrypoint makes a token for each task.",
        "there is no HTTP entrypoint; the mesh's development issuer makes tokens for whoever holds its keys",
    ),
    Row(
        "2:delegation",
        "A peer gets the first caller's token, so it may do what that person may; their depth is capped.",
        (
            f"{TASKS}::test_an_agent_asks_another_one_that_runs_elsewhere",
            f"{TASKS}::test_peers_are_only_those_that_file_and_caller_allow_and_not_too_deep",
        ),
        apart="agents ask one another through the queue of tasks: no worker has a part in that",
    ),
    not_there(
        "2:delegation-root-task",
        "A peer accepts a token only of the root task of its own.",
        "a token can name its task, but nothing checks that yet; it is bound to caller, scopes and time",
    ),
    not_there(
        "2:trust-cards",
        "Keys are published as cards, and bound to who may publish them.",
        "there are no trust cards; keys are files that each service is given",
    ),
    Row(
        "2:capabilities",
        "The answer names what is held, what is missing and how that was decided; nothing asked for is no yes.",
        (
            f"{RESOLUTION}::test_capabilities_tell_what_is_held_and_what_is_missing",
            f"{RESOLUTION}::test_capabilities_are_never_all_true_for_nothing",
        ),
        apart="an answer about scopes calls nothing",
        differs="authorization that is off is seen in the answer, which is no plain yes",
    ),
    not_there(
        "2:capabilities-endpoint",
        "`GET /api/v1/user/capabilities` gives it.",
        "there is no HTTP entrypoint; `toolmesh access check` gives it",
    ),
    not_there(
        "2:http-denial",
        "403 with the agent's name, and the agent is in no card.",
        "there is no HTTP entrypoint, and there are no agent cards",
    ),
]
