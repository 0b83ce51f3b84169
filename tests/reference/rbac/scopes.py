"""Scopes, what they cover and where they are checked (section 2)."""

from tests.reference.rbac_places import (
    AGENTS_ASKED,
    DISPATCH,
    DOCUMENTED,
    PURE,
    SCOPES,
    SHOWN,
    TASKS,
    THREE_CHECKS,
    USERS_AT_WORK,
    WORKER_ALONE,
    covers,
    covers_not,
    not_there,
)
from tests.reference.row import Row

ROWS = [
    Row(
        "2:grammar",
        "Three segments that are not empty, case-sensitive; whatever is not granted is denied.",
        (
            f"{SCOPES}::test_text_that_is_no_scope",
            f"{SCOPES}::test_plain_grants_cover_only_themselves",
            f"{SCOPES}::test_a_malformed_grant_covers_no_scope",
            covers_not("Tool:email:send", "tool:email:send"),
            covers("*", "tool:email:send"),
        ),
        apart=PURE,
    ),
    Row(
        "2:resource",
        "In a grant `_` and `*` cover one another, `_` no instance and a glob no `_`.",
        (
            covers("notify:*:send", "notify:_:send"),
            covers("notify:_:send", "notify:*:send"),
            covers_not("notify:_:send", "notify:email:send"),
            covers_not("notify:e*:send", "notify:_:send"),
        ),
        apart=PURE,
    ),
    Row(
        "2:wildcards",
        "`*` stands for any characters of one segment; `*` and `*:*:*` are everything.",
        (
            AGENTS_ASKED,
            f"{SCOPES}::test_globs_agree_with_the_shell",
            covers("agent:customer_*:invoke", "agent:customer_care:invoke"),
            covers("*:*:*", "tool:email:send"),
            covers_not("agent:*", "agent:a:invoke"),
            covers_not("agent:[ab]:invoke", "agent:a:invoke"),
        ),
        differs="`?` and `[...]` are no wildcards; a role that grants them is refused",
    ),
    Row(
        "2:categories",
        "A grant in one of the 21 categories opens nothing of another.",
        (f"{DOCUMENTED}::test_a_grant_of_a_category_opens_no_other",),
        differs="the list is not closed: tools may ask for scopes of other categories, which roles then grant",
        apart=PURE,
    ),
    Row(
        "2:verbs",
        "No verb implies another, and verbs of tools are free words.",
        (f"{DOCUMENTED}::test_a_grant_of_a_verb_is_of_that_alone",),
        apart=PURE,
    ),
    Row(
        "2:agent-id",
        "An agent is meant by the name in its file, in no other form.",
        (f"{DOCUMENTED}::test_an_agent_is_meant_by_its_own_name_alone",),
        apart=PURE,
    ),
    Row(
        "2:workflows",
        "`agent:*:invoke` covers no workflow.",
        (covers_not("agent:*:invoke", "workflow:x:invoke"),),
        apart="there are no workflows that could be called; the rule about their scopes holds already",
    ),
    Row(
        "2:built-in-implied",
        "`agent:<name>:invoke` implies the agent's tools that ask for no scope.",
        (USERS_AT_WORK, SHOWN),
    ),
    not_there(
        "2:built-in-exceptions",
        "notify_user, send_email and datadog_logs need a scope each.",
        "`notify_user`, `send_email` and `datadog_logs` do not exist",
    ),
    Row(
        "2:custom-tools",
        "All scopes are needed: those of the entry, and those of the toolset's own manifest.",
        (
            USERS_AT_WORK,
            WORKER_ALONE,
            f"{SCOPES}::test_all_required_scopes_are_needed",
            f"{DISPATCH}::test_scopes_are_checked_again_at_dispatch",
        ),
    ),
    not_there(
        "2:custom-tools-mcp-openapi",
        "The same of MCP and OpenAPI tools and of connectors.",
        "MCP and OpenAPI tools and connectors can't be called yet: an agent runs without such entries",
    ),
    Row(
        "2:check-points",
        "Filtered before the model sees them, checked again before dispatch, and a third time by the worker.",
        (SHOWN, USERS_AT_WORK, WORKER_ALONE, THREE_CHECKS, f"{DISPATCH}::test_the_model_sees_what_its_caller_may_use"),
        differs="a tool without scopes is for every user who has a scope, not for everybody who is signed in",
    ),
    Row(
        "2:wide-grant",
        "`tool:*:*` passes every gate of `tool:`, and none of another category.",
        (USERS_AT_WORK, covers("tool:*:*", "tool:email:send"), covers_not("tool:*:*", "connector:database:invoke")),
    ),
    Row(
        "2:agent-gate",
        "An agent's own scopes are asked of everybody who calls it, before anything else.",
        (
            AGENTS_ASKED,
            f"{TASKS}::test_who_may_not_ask_is_told_in_the_task",
            "tests/unit/executor/test_agent_registry.py::test_an_agents_own_scopes_guard_all_its_tools",
        ),
        differs="the task of who lacks one fails with PERMISSION_DENIED: there is no state `rejected`",
    ),
    Row(
        "2:former-scopes",
        "They can be granted, and open nothing new.",
        (f"{DOCUMENTED}::test_scopes_of_the_former_generation_are_grants_like_others",),
        apart=PURE,
    ),
]
