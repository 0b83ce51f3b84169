"""Keys of an agent's file (section 3.5): each with its documented default, and what it does."""

from tests.reference.row import Row

_CONFIG = "tests/unit/contracts/test_agent_config.py"
_DEFAULTS = f"{_CONFIG}::test_defaults_are_the_published_ones"
_ACCEPTED = f"{_CONFIG}::test_every_agent_key_is_accepted"
_DECISIONS = "tests/unit/executor/test_loop_decisions.py"
_TASKS = "tests/integration/executor/test_tasks.py"
_STRUCTURED = "tests/integration/executor/test_structured_tasks.py"
_FILE = "a key of a file: what a worker is sent does not depend on it"
_NO_EFFECT = "read and checked, and without effect yet: docs/agent-files.md lists it"


def _quiet(key: str, outcome: str) -> Row:
    """A key that has no effect yet."""
    return Row(f"3.5:{key}", outcome, (_DEFAULTS, _ACCEPTED), differs=_NO_EFFECT, apart=_FILE)


def _at_work(key: str, outcome: str, *tests: str) -> Row:
    """A key whose effect tests prove."""
    return Row(f"3.5:{key}", outcome, (_DEFAULTS, *tests), apart=_FILE)


ROWS = [
    _at_work(
        "forms",
        "One agent at the top level (`agent_name`), or several under `agents`; a model as text or with settings.",
        f"{_CONFIG}::test_list_form_with_the_published_shape",
        f"{_CONFIG}::test_single_form",
    ),
    _quiet("session_service", "memory by default, PERSISTENT; `sql` needs its address."),
    _quiet("artifact_service", "memory by default."),
    _at_work("max_llm_calls_per_task", "30 turns.", f"{_DECISIONS}::test_turns_are_bounded"),
    _at_work(
        "enable_auto_continuation",
        "On: a cut answer is gone on with.",
        f"{_DECISIONS}::test_a_cut_answer_goes_on_and_the_texts_are_one",
    ),
    _quiet("supports_streaming", "Off by default; text streams in any case."),
    _quiet("max_message_size_bytes", "10,000,000."),
    _at_work(
        "tool_output_llm_return_max_bytes",
        "8192 bytes of a result reach the model, never half of a value.",
        "tests/unit/executor/test_tool_content.py::test_content_is_never_over_the_limit",
    ),
    _quiet("tool_output_save_threshold_bytes", "4096."),
    _quiet("agent_card_publishing", "Every 60 s."),
    _quiet("agent_discovery", "A card lives for 300 s, looked at each 60 s."),
    _at_work(
        "inter_agent_communication",
        'allow_list ["*"], deny_list [], 30 s.',
        f"{_TASKS}::test_peers_are_only_those_that_file_and_caller_allow_and_not_too_deep",
        f"{_TASKS}::test_a_peer_that_nobody_runs_in_time_is_an_answer_for_the_model",
    ),
    _at_work(
        "max_call_depth",
        "6 agents that may ask one another in a row.",
        f"{_TASKS}::test_peers_are_only_those_that_file_and_caller_allow_and_not_too_deep",
    ),
    Row(
        "3.5:enable_embed_resolution",
        "On: embeds in answers and in tools' arguments are replaced.",
        (
            _DEFAULTS,
            "tests/e2e/test_changed_agents.py::test_embeds_in_arguments_are_replaced_unless_the_file_says_no",
            "tests/integration/executor/test_embedded_answers.py::test_an_agent_can_do_without",
        ),
    ),
    _quiet("enable_artifact_content_instruction", "On."),
    _quiet("artifact_handling_mode", "ignore, embed or reference."),
    _at_work(
        "auto_summarization",
        "A quarter of a conversation that is too long becomes a summary.",
        "tests/unit/executor/test_loop_runner.py::test_another_run_goes_on_with_the_summary_of_the_first",
        "tests/integration/executor/test_long_conversations.py::test_an_agents_file_can_do_without_summaries",
    ),
    _at_work(
        "input_schema",
        "A request has to fit it.",
        f"{_STRUCTURED}::test_a_request_that_does_not_fit_is_refused_before_any_model_is_asked",
    ),
    _at_work(
        "output_schema",
        "An answer has to fit it.",
        f"{_STRUCTURED}::test_an_answer_that_does_not_fit_is_asked_for_again_with_the_violations",
    ),
    _quiet(
        "auto_inject_artifact_tools", "On: the group is injected once it exists; asked for by name, its lack is told."
    ),
    _quiet("auto_inject_data_analysis_tools", "On, as the other group."),
    _at_work(
        "schema_inference_depth",
        "4 levels of a result's shape, 1 to 10.",
        "tests/unit/executor/test_tool_content.py::test_a_shape_is_bounded_in_width_and_depth",
    ),
    _quiet("data_tools_config", "100 MiB, 50 rows, 4096 bytes."),
    _at_work(
        "stream_batching_threshold_bytes",
        "Streamed text comes in pieces of at least 100 bytes.",
        "tests/unit/executor/test_loop_runner.py::test_parallel_calls_run_at_once_and_the_model_reads_both",
    ),
    _quiet("enable_inline_vision", "Off."),
]
