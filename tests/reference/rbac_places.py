"""Tests that rows of several modules name, and why some rows have none."""

from tests.reference.row import Row

_CONTRACTS = "tests/unit/contracts"
SCOPES = f"{_CONTRACTS}/test_scopes.py"
DOCUMENTED = f"{_CONTRACTS}/test_documented_scopes.py"
FILES = f"{_CONTRACTS}/test_access_files.py"
RESOLUTION = f"{_CONTRACTS}/test_access_resolution.py"
NARROWING = f"{_CONTRACTS}/test_scope_narrowing.py"
TOKENS = "tests/unit/identity/test_tokens.py"
TASKS = "tests/integration/executor/test_tasks.py"
DISPATCH = "tests/unit/executor/test_dispatch.py"
CALLER = "tests/unit/cli/test_caller_access.py"

USERS_AT_WORK = "tests/e2e/test_access.py::test_users_may_do_what_their_roles_grant"
BROKEN_START = "tests/e2e/test_access.py::test_a_mesh_with_broken_authorization_does_not_start"
AGENTS_ASKED = "tests/e2e/test_access_to_agents.py::test_users_ask_the_agents_that_their_roles_open"
SYSTEM_USERS = (
    "tests/integration/executor/test_scopes_at_the_worker.py::test_system_users_reach_what_is_built_in_for_them"
)
NO_AUTHORIZATION = "tests/e2e/test_access.py::test_a_mesh_without_authorization_has_no_other_users"
SHOWN = "tests/e2e/test_ask.py::test_a_tool_is_shown_only_to_callers_with_its_scopes"
WORKER_ALONE = (
    "tests/integration/executor/test_scopes_at_the_worker.py::test_a_worker_checks_agent_entry_and_manifest_on_its_own"
)
THREE_CHECKS = "tests/unit/executor/test_three_checks.py::test_no_sequence_reaches_a_tool_outside_the_grants"

PURE = "a rule about texts and files: what a worker then makes of the scopes is proven at 2:check-points"


def covers(grant: str, required: str) -> str:
    """The test that a grant covers what is required."""
    return f"{SCOPES}::test_grant_covers[{grant}-{required}]"


def covers_not(grant: str, required: str) -> str:
    """The test that it does not."""
    return f"{SCOPES}::test_grant_does_not_cover[{grant}-{required}]"


def not_there(identifier: str, outcome: str, lacks: str) -> Row:
    """A row that needs what does not exist, as docs/access.md says in these words."""
    return Row(identifier, outcome, lacks=lacks, told_in="docs/access.md", apart="there is nothing to test yet")
