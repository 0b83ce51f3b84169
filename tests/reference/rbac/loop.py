"""What went wrong elsewhere in the loop, its history and between agents (section 6, of rows 1 to 30)."""

from tests.reference.rbac_places import not_there
from tests.reference.row import Row

_RUNNER = "tests/unit/executor/test_loop_runner.py"
_DECISIONS = "tests/unit/executor/test_loop_decisions.py"
_TURNS = "tests/integration/executor/test_model_turns.py"
_TASKS = "tests/integration/executor/test_tasks.py"
_LOOP = "a matter of the loop: which worker runs a tool changes nothing"

ROWS = [
    Row(
        "6:1-breaker",
        "A tool that fails three times the same way is not called again in its task.",
        (f"{_RUNNER}::test_a_tool_that_keeps_failing_is_not_called_a_fourth_time",),
        apart=_LOOP,
    ),
    not_there(
        "6:2-mcp-command",
        "An MCP server that can't be started is a visible problem, and the other tools are there.",
        "MCP and OpenAPI tools and connectors can't be called yet: an agent runs without such entries",
    ),
    Row(
        "6:14-schemas",
        "A tool's schema keeps items, required and enum on its way to a provider.",
        (
            "tests/unit/executor/test_tool_schemas.py::test_what_providers_refuse_is_adapted",
            "tests/unit/executor/test_tool_schemas.py::test_what_a_tool_takes_the_adapted_schema_takes",
        ),
        apart=_LOOP,
    ),
    Row(
        "6:17-truncated",
        "A result that is too long is told by its shape, never by half of it.",
        (
            "tests/unit/executor/test_tool_content.py::test_a_long_value_is_shown_by_its_shape",
            "tests/unit/executor/test_tool_content.py::test_content_is_never_over_the_limit",
        ),
        apart=_LOOP,
    ),
    Row(
        "6:18-fast-reply",
        "Of two parallel calls the result that comes before its publish is acknowledged counts, too.",
        (
            "tests/unit/client/test_call_endings.py::test_a_result_before_the_publishs_answer_counts",
            f"{_RUNNER}::test_parallel_calls_run_at_once_and_the_model_reads_both",
        ),
        apart=_LOOP,
    ),
    Row(
        "6:25-illegal-names",
        "A name that a provider does not take is spelled legally, in the history too.",
        (
            "tests/unit/executor/test_legal_names.py::test_any_name_of_a_history_becomes_legal",
            f"{_TURNS}::test_illegal_names_are_spelled_legally_and_come_back_as_they_are",
        ),
        apart=_LOOP,
    ),
    Row(
        "6:26-internal-tools",
        "A tool that the agent does not have is not called; the model is told, the person is not.",
        (f"{_RUNNER}::test_what_a_model_gets_wrong_is_said_to_it",),
        apart=_LOOP,
    ),
    Row(
        "6:27-dangling-calls",
        "A history in which a call lacks its result gets one before it is sent.",
        (
            f"{_DECISIONS}::test_conversation_has_a_result_for_every_call",
            f"{_DECISIONS}::test_any_history_ends_and_any_prefix_can_be_gone_on_with",
        ),
        apart=_LOOP,
    ),
    Row(
        "6:28-one-budget",
        "All attempts to get one turn have one budget.",
        (f"{_TURNS}::test_one_budget_bounds_all_attempts",),
        apart=_LOOP,
    ),
    Row(
        "6:29-time-limit",
        "A task's time limit ends what runs and what waits.",
        (f"{_TASKS}::test_a_task_ends_at_its_deadline_with_its_calls",),
        apart="the worker is the test's own, over a real broker",
    ),
    Row(
        "6:30-paused-peer",
        "A peer that asks a person is not taken as final.",
        (f"{_TASKS}::test_a_paused_peer_is_not_taken_as_final_and_goes_with_its_asker",),
        apart="the worker is the test's own, over a real broker",
    ),
]
