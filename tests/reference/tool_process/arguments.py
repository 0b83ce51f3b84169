"""The arguments file (section 2.3)."""

from tests.reference.places import (
    ARGUMENT_RULES,
    ARGUMENTS_FILE,
    CONTEXT_FORMS,
    DESCRIBED,
    EVERYTHING,
    FAILED_CALLS,
    GO,
    GO_ARGUMENTS,
    GO_ARTIFACTS,
    HOST_REPAIRS,
    MISSING_ARTIFACT,
    MODEL_CHANNEL,
    ODD_FIELDS,
    OUTCOMES,
    OWN_CALLER,
    OWN_STATUSES,
    PROVIDERS,
    RELEASES,
    RUNNER_ARGS,
    SCHEMA_DOCUMENTS,
    SDK,
    STATUS_CHANNEL,
    STATUSES,
    VERSIONS,
    WHO_CALLS,
)
from tests.reference.row import Row

ROWS = [
    Row(
        "2.3:encoding",
        "Text of any alphabet reaches tools of every release and of ours, whatever the locale.",
        (RELEASES, RUNNER_ARGS, f"{ARGUMENTS_FILE}::test_no_variable_of_the_environment_is_needed_or_obeyed"),
        differs="the arguments stay the caller's own bytes in UTF-8, and tools run in UTF-8 mode; all else is ASCII",
    ),
    Row(
        "2.3:byte-order-mark",
        "Ours reads past a mark; the worker never writes one.",
        (OWN_CALLER, f"{FAILED_CALLS}::test_null_containers_and_a_byte_order_mark_are_tolerated", RUNNER_ARGS),
    ),
    Row(
        "2.3:size",
        "Megabytes of arguments pass.",
        (
            f"{SDK}/test_arguments.py::test_a_large_argument_and_a_large_result_pass",
            f"{OUTCOMES}::test_large_odd_and_empty_values_arrive_right",
        ),
    ),
    Row(
        "2.3:tool_name",
        "The tool's own name picks it from a provider or a Go binary; none or a wrong one is an error in an envelope.",
        (
            RUNNER_ARGS,
            DESCRIBED,
            GO_ARGUMENTS,
            f"{PROVIDERS}::test_a_call_without_a_name_is_an_error_unless_there_is_only_one_tool",
            f"{PROVIDERS}::test_children_inherit_and_parents_learn_nothing_of_them",
        ),
    ),
    Row(
        "2.3:tool_name-renamed",
        "Ours answers to the name that the model saw as well.",
        (f"{SCHEMA_DOCUMENTS}::test_a_provider_renames_its_tools_and_answers_both_names",),
        apart="the worker always sends the static name, as published tools need it",
    ),
    Row(
        "2.3:args",
        "Keyword arguments of the tool; a call whose arguments are no object is refused before a tool starts.",
        (
            RELEASES,
            f"{ARGUMENT_RULES}::test_hostile_arguments_are_refused_in_bounds",
            f"{FAILED_CALLS}::test_arguments_that_are_no_object_are_an_error_envelope",
        ),
    ),
    Row(
        "2.3:args-unknown",
        "The worker leaves an unknown argument out with a note; our SDK alone names it as a mistake.",
        (
            RELEASES,
            GO_ARGUMENTS,
            f"{ARGUMENT_RULES}::test_unknown_argument_is_left_out_with_a_note",
            f"{SDK}/test_arguments.py::test_all_problems_are_named_at_once",
            f"{SDK}/test_arguments.py::test_extra_arguments_reach_a_function_that_takes_them",
        ),
    ),
    Row("2.3:tool_config", "The operator's settings; absent, null and odd ones are none.", (EVERYTHING, ODD_FIELDS)),
    Row(
        "2.3:artifact_metadata",
        "Each file is known by its argument, with name, type, version and place; its place is not among its metadata.",
        (EVERYTHING, RUNNER_ARGS, VERSIONS),
    ),
    Row(
        "2.3:artifact_metadata-incomplete",
        "A file without a place did not come, which is an error in an envelope; null is none.",
        (f"{ARGUMENTS_FILE}::test_an_artifact_without_a_path_is_one_that_did_not_come", ODD_FIELDS),
        apart="the worker places every file before it names it",
    ),
    Row(
        "2.3:artifact_paths",
        "The same files by path alone, for Go and for the oldest context.",
        (GO_ARTIFACTS, RUNNER_ARGS, f"{CONTEXT_FORMS}::test_the_oldest_form_gets_synchronous_artifacts"),
    ),
    Row(
        "2.3:artifact-lists",
        "A list's files are counted from zero, all arrive, and one that did not come is named.",
        (
            GO_ARTIFACTS,
            VERSIONS,
            MISSING_ARTIFACT,
            f"{ARGUMENT_RULES}::test_artifacts_that_came_along_fill_their_arguments",
            f"{ARGUMENT_RULES}::test_artifact_that_did_not_come_along_is_refused",
        ),
    ),
    Row(
        "2.3:status_pipe",
        "Statuses go there; without one they are refused and cost nothing.",
        (
            OWN_STATUSES,
            STATUSES,
            f"{STATUS_CHANNEL}::test_a_host_without_a_reader_costs_one_short_wait_and_not_one_per_message",
        ),
    ),
    Row(
        "2.3:result_file",
        "The envelope goes there; without one it is all that is on stdout.",
        (RELEASES, f"{FAILED_CALLS}::test_without_a_result_file_stdout_holds_the_envelope_alone"),
    ),
    Row(
        "2.3:output_dir",
        "Files for the host; without the field, beside the result, and made only when something is saved.",
        (EVERYTHING, ODD_FIELDS, f"{ARGUMENTS_FILE}::test_a_file_where_the_output_folder_belongs_hurts_only_who_saves"),
        differs="a folder at the root of the file system is nowhere that a tool could write to",
    ),
    Row(
        "2.3:ipc_socket",
        "Where a model is served; too long a path is not named, and one that nobody serves hurts only who asks.",
        (
            EVERYTHING,
            f"{HOST_REPAIRS}::test_arguments_file_names_credential_and_socket",
            ODD_FIELDS,
            f"{MODEL_CHANNEL}::test_no_socket_and_no_listener_are_ipc_errors",
        ),
    ),
    Row("2.3:user_id", "Who calls, as the token has it; `unknown` if not told.", (EVERYTHING, WHO_CALLS, ODD_FIELDS)),
    Row("2.3:session_id", "The conversation; `unknown` if not told.", (OWN_CALLER, RUNNER_ARGS, WHO_CALLS, ODD_FIELDS)),
    Row("2.3:app_name", "The agent; empty if not told.", (OWN_CALLER, RUNNER_ARGS, WHO_CALLS, ODD_FIELDS)),
    Row("2.3:task_id", "The agent's task; empty if not told.", (OWN_CALLER, RUNNER_ARGS, WHO_CALLS, ODD_FIELDS)),
    Row(
        "2.3:tool_oauth_token",
        "The token for the service; empty if there is none.",
        (f"{GO}::test_static_credential_reaches_the_tool_as_header", WHO_CALLS, ODD_FIELDS),
    ),
    Row(
        "2.3:tool_auth_headers",
        "An operator's basic or bearer credential as a ready header.",
        (
            f"{GO}::test_static_credential_reaches_the_tool_as_header",
            f"{HOST_REPAIRS}::test_static_credential_is_a_ready_header",
        ),
    ),
    Row(
        "2.3:a2a_user_config",
        "The caller's profile as JSON text, from the token; ours takes an object as well, and rubbish as none.",
        (EVERYTHING, RUNNER_ARGS, f"{ARGUMENTS_FILE}::test_a_profile_that_is_an_object_is_taken", ODD_FIELDS),
    ),
    Row(
        "2.3:volume_mounts",
        "The call's volumes; null and rubbish are none.",
        (OWN_CALLER, RUNNER_ARGS, WHO_CALLS, ODD_FIELDS),
    ),
    Row(
        "2.3:module",
        "Fields of the module runner are neither written by the worker nor obeyed by our SDK.",
        (OWN_CALLER, RUNNER_ARGS, ODD_FIELDS),
        differs="only programs are run: importing whatever a field names is a second way in that no tool needs",
    ),
    Row("2.3:unknown-keys", "Fields that a tool does not know cost nothing.", (RELEASES, GO_ARGUMENTS, ODD_FIELDS)),
    Row("2.3:paths", "Every path is the one that the tool sees.", (EVERYTHING, RUNNER_ARGS)),
]
