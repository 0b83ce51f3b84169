"""What went wrong elsewhere (section 6, rows 5, 6, 7 and 9)."""

from tests.reference.rbac_places import AGENTS_ASKED, DISPATCH, SHOWN, TOKENS, USERS_AT_WORK, WORKER_ALONE, not_there
from tests.reference.row import Row

ROWS = [
    Row(
        "6:5-remote-tools",
        "A tool with `required_scopes` is hidden from callers without them, and refused if it is called all the same.",
        (SHOWN, USERS_AT_WORK, WORKER_ALONE, f"{DISPATCH}::test_scopes_are_checked_again_at_dispatch"),
    ),
    not_there(
        "6:5-mcp-tools",
        "The same of an MCP tool.",
        "MCP and OpenAPI tools and connectors can't be called yet: an agent runs without such entries",
    ),
    not_there(
        "6:6-agent-card",
        "An agent's card names no tool that its reader may not call.",
        "there are no agent cards yet; what a model and `toolmesh access show` are told is filtered",
    ),
    Row(
        "6:7-direct-submit",
        "Who lacks `agent:<name>:invoke` can't call an agent's tools, nor ask it.",
        (USERS_AT_WORK, AGENTS_ASKED, WORKER_ALONE),
    ),
    Row(
        "6:9-placeholders",
        "Nobody is called `unknown`, `None` or nothing at all.",
        (
            USERS_AT_WORK,
            f"{TOKENS}::test_a_placeholder_subject_is_nobody",
            f"{TOKENS}::test_a_missing_subject_is_nobody",
        ),
    ),
]
