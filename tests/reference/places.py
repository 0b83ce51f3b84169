"""Tests that rows of several sections name."""

SDK = "tests/unit/sdk"
RUNTIME = "tests/unit/runtime"
WORKER = "tests/integration/runtime"

ARGUMENTS_FILE = f"{SDK}/test_arguments_file.py"
CONTEXT_FORMS = f"{SDK}/test_context_forms.py"
ARTIFACT_FILES = f"{SDK}/test_artifact_files.py"
FAILED_CALLS = f"{SDK}/test_failed_calls.py"
RESULT_SHAPES = f"{SDK}/test_result_shapes.py"
SCHEMA_DOCUMENTS = f"{SDK}/test_schema_documents.py"
PROVIDERS = f"{SDK}/test_providers.py"
STATUS_CHANNEL = f"{SDK}/test_status_channel.py"
MODEL_CHANNEL = f"{SDK}/test_model_channel.py"
LAUNCHER = f"{SDK}/test_launcher.py"
ARGUMENT_RULES = f"{RUNTIME}/test_argument_rules.py"
INTERPRETATION = f"{RUNTIME}/test_interpretation.py"
ENVELOPE = f"{RUNTIME}/test_result_envelope.py"
OUTPUT_FILES = f"{RUNTIME}/test_output_files.py"
HOST_REPAIRS = f"{RUNTIME}/test_host_repairs.py"
PRESENTATION = f"{RUNTIME}/test_presentation.py"
MODEL_SOCKET = f"{RUNTIME}/test_model_socket.py"
STATUS_PIPE = f"{RUNTIME}/test_status_pipe.py"
PUBLISHED = f"{WORKER}/test_published_sdk_calls.py"
FORMS = f"{WORKER}/test_published_sdk_forms.py"
GO = f"{WORKER}/test_go_tools.py"
OUTCOMES = f"{WORKER}/test_worker_outcomes.py"
DISCOVERY = f"{WORKER}/test_discovery.py"

RUNNER_ARGS = f"{RUNTIME}/test_runner_args.py::test_arguments_stay_raw_and_all_fields_are_there"
ODD_FIELDS = f"{ARGUMENTS_FILE}::test_fields_that_are_absent_odd_or_unknown_have_their_defaults"
WHO_CALLS = f"{CONTEXT_FORMS}::test_the_context_says_who_calls_and_what_is_mounted"
EVERYTHING = f"{PUBLISHED}::test_artifacts_model_and_configuration_reach_a_published_tool"
SHAPES = f"{PUBLISHED}::test_every_shape_of_a_published_result_has_its_outcome"
RELEASES = f"{PUBLISHED}::test_tools_of_every_release_run_unchanged"
DESCRIBED = f"{PUBLISHED}::test_schema_under_a_configuration_is_what_the_tool_makes_of_it"
STATUSES = f"{PUBLISHED}::test_no_status_is_lost_or_glued"
REPAIRED = f"{FORMS}::test_repaired_tools_get_all_that_they_ask_for"
REPAIRED_SCHEMA = f"{FORMS}::test_repaired_tools_advertise_only_what_models_send"
GO_ARGUMENTS = f"{GO}::test_go_tool_gets_values_of_its_strict_types"
GO_ARTIFACTS = f"{GO}::test_go_artifacts_keep_their_type_both_ways"
GO_RESULTS = f"{GO}::test_go_results_have_their_outcome"
GO_MODEL = f"{GO}::test_tool_asks_the_model_over_the_broker"
GO_FLOOD = f"{GO}::test_a_flood_of_statuses_does_not_hold_a_go_tool_up"
VERSIONS = f"{ARTIFACT_FILES}::test_versions_of_one_file_are_kept_apart"
MISSING_ARTIFACT = f"{ARTIFACT_FILES}::test_a_missing_artifact_is_an_argument_error_before_the_tool_runs"
CATALOG = f"{DISCOVERY}::test_all_that_a_tool_declares_is_in_the_catalog"
DECLARED = f"{SCHEMA_DOCUMENTS}::test_declarations_are_part_of_the_entry"
BY_STYLE = f"{SCHEMA_DOCUMENTS}::test_class_tools_and_provider_functions_declare_as_functions_do"
SEALED = f"{OUTCOMES}::test_sealed_secret_reaches_the_tool_and_nobody_else"
WAYS_TO_FAIL = f"{OUTCOMES}::test_failures_have_their_code_and_say_why"


def returned(expression: str) -> str:
    """The test of what our SDK makes of a returned value."""
    return f"{RESULT_SHAPES}::test_each_return_value_has_its_wire_shape[{expression}]"


def refused(expression: str) -> str:
    """The test of a returned value that JSON can't carry."""
    for value, place in (
        ("{(1, 2): 3}", "the key (1, 2)"),
        ("(lambda d: d.update(me=d) or d)({})", "result.me contains itself"),
        ("(n for n in [1])", "result is a generator"),
    ):
        if value == expression:
            return f"{RESULT_SHAPES}::test_what_json_cannot_carry_is_an_error_that_names_the_place[{value}-{place}]"
    raise ValueError(expression)
