"""What goes wrong under the published SDK and host, and what is right instead (section 5)."""

from tests.reference.places import (
    ANNOTATIONS,
    ARGUMENT_RULES,
    ARGUMENTS_FILE,
    ARTIFACT_FILES,
    BY_STYLE,
    CONTEXT_FORMS,
    DECLARATIONS,
    DECLARED,
    DESCRIBED,
    ENVELOPE,
    EVERY_FORM_AT_WORK,
    EVERY_STYLE,
    EVERYTHING,
    FAILED_CALLS,
    FILE_LISTS,
    FORMS,
    GO,
    GO_ARGUMENTS,
    GO_ARTIFACTS,
    GO_MODEL,
    GO_RESULTS,
    HOST_REPAIRS,
    HOSTILE_OUTPUTS,
    HOSTILE_RESULTS,
    INTERPRETATION,
    LAUNCHER,
    MISSING_ARTIFACT,
    MODEL_CHANNEL,
    MODEL_SOCKET,
    NEIGHBOURS,
    ODD_FIELDS,
    OUTCOMES,
    OUTPUT_FILES,
    OWN_CALLER,
    OWN_CANCELLED,
    OWN_FAMILY,
    OWN_FILES_IN,
    OWN_FILES_OUT,
    OWN_LOG,
    OWN_MODEL,
    OWN_NAMES,
    OWN_SHAPES,
    OWN_STATUSES,
    PRESENTATION,
    PROVIDERS,
    RELEASES,
    REPAIRED,
    REPAIRED_SCHEMA,
    RESULT_SHAPES,
    SCHEMA_DOCUMENTS,
    SDK,
    SEALED,
    SHAPES,
    STATUS_CHANNEL,
    STATUSES,
    TOOL_MODELS,
    UNDESCRIBABLE,
    VERSIONS,
    WHO_CALLS,
    WORKER,
)
from tests.reference.row import Row

_TABLE = f"{SDK}/test_annotation_table.py"
_MANY = f"{DECLARATIONS}::test_defaults_doubtful_values_and_further_arguments_arrive_as_meant"
_AT_WORK = f"{ANNOTATIONS}::test_value_sent_by_the_schema_arrives_as_annotated"
_EVERY_FORM = f"{CONTEXT_FORMS}::test_the_context_arrives_in_every_form"
_NEVER_SEEN = f"{CONTEXT_FORMS}::test_the_model_never_sees_the_context"
_CONFIG = f"{CONTEXT_FORMS}::test_tool_config_reaches_every_style"
_CALLABLES = f"{CONTEXT_FORMS}::test_every_kind_of_callable_is_a_tool_and_awaitables_are_awaited"
_FAMILY = f"{PROVIDERS}::test_children_inherit_and_parents_learn_nothing_of_them"
_REFUSED = f"{_TABLE}::test_what_does_not_fit_is_refused_by_place_and_expectation"
_FAITHFUL = f"{_TABLE}::test_each_annotation_is_advertised_faithfully_and_built"
_PARAGRAPHS = f"{SCHEMA_DOCUMENTS}::test_a_described_function_keeps_its_paragraphs_and_loses_its_args_block"
_UNDESCRIBED = (
    f"{SCHEMA_DOCUMENTS}::test_a_tool_without_description_is_refused_at_discovery_in_every_style_but_still_runs"
)
_BROKEN = f"{SCHEMA_DOCUMENTS}::test_what_cannot_be_described_is_one_line_on_stderr"
_KEPT = f"{RESULT_SHAPES}::test_objects_that_cannot_be_kept_make_a_partial_result_that_says_so"
_SAVED = f"{ARTIFACT_FILES}::test_saved_artifacts_keep_their_type_and_description"
_NAMES = f"{ARTIFACT_FILES}::test_names_that_leave_the_output_folder_are_refused"
_NOT_HERE = f"{ARTIFACT_FILES}::test_the_context_can_be_built_by_hand_for_an_authors_own_tests"
_RAISED = f"{FAILED_CALLS}::test_whatever_a_tool_raises_its_caller_gets_an_envelope"
_TRACE = f"{FAILED_CALLS}::test_the_traceback_goes_to_stderr_and_not_to_the_model"
_CANCELLED = f"{FAILED_CALLS}::test_termination_cancels_the_tool_runs_its_finally_and_writes_an_envelope"
_WHOLE = f"{FAILED_CALLS}::test_a_result_is_whole_or_absent_and_replaces_what_was_there"
_NO_JSON = f"{RESULT_SHAPES}::test_what_json_cannot_carry_is_an_error_that_names_the_place"
_QUESTION = f"{MODEL_SOCKET}::test_question_has_its_answer_and_its_id"
_SILENT = f"{MODEL_CHANNEL}::test_a_silent_host_is_a_timeout_and_its_late_answer_is_not_the_next_one"
_PROGRESS = f"{WORKER}/test_tool_progress.py::test_progress_reaches_the_caller"
_FIFO = "tests/unit/runtime/test_status_pipe.py::test_writer_never_meets_a_pipe_without_reader"
_OUTPUTS = "tests/unit/sandbox/test_outputs.py"

_CALLING = [
    Row(
        "5:1-no-context",
        "A function without a context, or without parameters, is called as it is.",
        (
            EVERY_FORM_AT_WORK,
            f"{CONTEXT_FORMS}::test_a_tool_without_a_context_is_called_without_one",
            REPAIRED,
            RELEASES,
        ),
    ),
    Row(
        "5:2-optional-context",
        "An optional, unannotated or defaulted context arrives and is not shown.",
        (EVERY_FORM_AT_WORK, _EVERY_FORM, _NEVER_SEEN, REPAIRED, REPAIRED_SCHEMA),
    ),
    Row("5:3-tool_config", "A `tool_config` parameter gets the settings.", (EVERY_FORM_AT_WORK, _CONFIG, REPAIRED)),
    Row(
        "5:4-legacy-context",
        "The oldest form's context is not shown, and is of its own kind.",
        (
            EVERY_FORM_AT_WORK,
            _NEVER_SEEN,
            REPAIRED_SCHEMA,
            f"{CONTEXT_FORMS}::test_the_oldest_form_gets_synchronous_artifacts",
        ),
    ),
    Row(
        "5:5-postponed",
        "Annotations that are text mean what they say.",
        (EVERY_FORM_AT_WORK, _EVERY_FORM, REPAIRED, REPAIRED_SCHEMA, f'{_FAITHFUL}["int"]'),
    ),
    Row(
        "5:6-sync",
        "A sync function in a provider and a sync class tool run.",
        (EVERY_FORM_AT_WORK, _EVERY_FORM, _CONFIG, REPAIRED),
    ),
    Row("5:7-forgotten-await", "What was not awaited is.", (EVERY_FORM_AT_WORK, _CALLABLES, REPAIRED, SHAPES)),
    Row(
        "5:8-duplicates",
        "Two tools of one name are an error, at discovery.",
        (
            UNDESCRIBABLE,
            f"{_BROKEN}[two tools named run]",
        ),
    ),
    Row(
        "5:8-inheritance",
        "A child's tools are its own.",
        (
            OWN_FAMILY,
            _FAMILY,
        ),
    ),
    Row("5:8-own-config", "A provider has `tool_config`.", (EVERY_FORM_AT_WORK, _CONFIG, REPAIRED)),
    Row("5:8-no-tools-created", "`create_tools` may return nothing.", (EVERY_FORM_AT_WORK, _FAMILY, REPAIRED)),
    Row("5:9-types", "Values are checked, and built as annotated.", (_AT_WORK, _FAITHFUL, _REFUSED)),
    Row(
        "5:9-missing-artifact",
        "A file that did not come is an error before the tool runs.",
        (MISSING_ARTIFACT, EVERYTHING, GO_ARTIFACTS),
    ),
    Row(
        "5:10-callables",
        "Positional-only parameters and partial functions work.",
        (
            EVERY_FORM_AT_WORK,
            _CALLABLES,
            f"{SDK}/test_arguments.py::test_extra_arguments_reach_a_function_that_takes_them",
            REPAIRED,
        ),
    ),
]

_SCHEMA = [
    Row(
        "5:11-losses",
        "Nothing that an annotation says is lost.",
        (
            _AT_WORK,
            _FAITHFUL,
        ),
    ),
    Row(
        "5:11-texts",
        "Description, instructions and parameters say each thing once, and whole.",
        (EVERY_STYLE, _PARAGRAPHS, RELEASES, REPAIRED_SCHEMA),
    ),
    Row(
        "5:12-docstrings",
        "No description is refused at discovery in every style, and never ends a call.",
        (
            UNDESCRIBABLE,
            _UNDESCRIBED,
        ),
    ),
    Row(
        "5:13-null-parameters",
        "Refused by name.",
        (
            UNDESCRIBABLE,
            f"{_BROKEN}[parameters_schema must be a JSON Schema object]",
        ),
    ),
    Row(
        "5:13-config-fields",
        "Field objects in a class's own list work.",
        (
            EVERY_STYLE,
            BY_STYLE,
        ),
    ),
    Row(
        "5:13-provider-options",
        "A provider's function keeps its time limit and volumes.",
        (EVERY_STYLE, BY_STYLE, _FAMILY),
    ),
    Row(
        "5:13-class-instructions",
        "A class tool may give instructions.",
        (
            EVERY_STYLE,
            BY_STYLE,
            f"{ARTIFACT_FILES}::test_a_class_tool_gets_loaded_artifacts_checked_arguments_and_its_context",
        ),
    ),
    Row("5:13-embed-control", "What stays raw is in the schema.", (EVERY_STYLE, DECLARED, BY_STYLE)),
    Row(
        "5:13-version",
        "Name and version of the SDK, what a success's data looks like, and the digest of the tool's files as its version.",
        (_MANY, f"{WORKER}/test_discovery.py::test_change_is_a_new_version_and_the_old_one_stays"),
    ),
    Row(
        "5:14-noise",
        "What is printed leaves the schema readable.",
        (
            EVERY_STYLE,
            f"{WORKER}/test_discovery.py::test_noise_around_the_schema_does_no_harm",
            f"{SCHEMA_DOCUMENTS}::test_prints_of_create_tools_stay_out_of_the_schema",
        ),
    ),
    Row(
        "5:14-renamed",
        "A renamed tool can be called.",
        (DESCRIBED, f"{SCHEMA_DOCUMENTS}::test_a_provider_renames_its_tools_and_answers_both_names"),
    ),
]

_RESULTS = [
    Row("5:15-trace", "The model reads one line, without paths.", (OWN_SHAPES, SHAPES, _TRACE)),
    Row(
        "5:15-secrets",
        "Secrets that the call was given are hidden.",
        (SEALED, "tests/unit/runtime/test_outcome.py::test_secret_is_hidden_in_every_part"),
    ),
    Row(
        "5:15-structure",
        "Class and whether a retry can help are told.",
        (OWN_SHAPES, _RAISED, f"{ENVELOPE}::test_structured_error_is_preferred"),
    ),
    Row(
        "5:16-metadata",
        "Stored files keep type, description, metadata and preview.",
        (OWN_FILES_OUT, EVERYTHING, _SAVED),
    ),
    Row("5:16-folders", "Folders in a name are made.", (OWN_FILES_OUT, EVERYTHING, _SAVED)),
    Row(
        "5:16-escape",
        "A name that leaves the output folder is refused, and said.",
        (OWN_FILES_OUT, EVERYTHING, _KEPT, _NAMES),
    ),
    Row("5:16-same-name", "Equal names are numbered.", (OWN_FILES_OUT, EVERYTHING, _KEPT)),
    Row("5:16-bad-object", "One bad object costs only itself.", (OWN_FILES_OUT, _KEPT, EVERYTHING)),
    Row(
        "5:17-nan", "Null with a note.", (OWN_SHAPES, SHAPES, f"{RESULT_SHAPES}::test_nan_is_sent_as_null_with_a_note")
    ),
    Row("5:17-unserialisable", "An error that names the place, in an envelope.", (OWN_SHAPES, SHAPES, _NO_JSON)),
    Row(
        "5:17-atomic",
        "A result is whole or absent.",
        (_WHOLE,),
        apart="what a file holds between two writes is no outcome of a call",
    ),
    Row(
        "5:17-mistakes-shown",
        "What is no value of JSON is an error, not its repr.",
        (
            OWN_SHAPES,
            _NO_JSON,
        ),
    ),
    Row(
        "5:17-host-path",
        "An artifact's metadata has no path.",
        (
            OWN_FILES_IN,
            VERSIONS,
        ),
    ),
    Row(
        "5:18-versions",
        "Each version has its own bytes.",
        (
            OWN_FILES_IN,
            VERSIONS,
        ),
    ),
    Row(
        "5:18-on-demand",
        "Only the call's own files can be read; an error names those.",
        (OWN_FILES_IN, _NOT_HERE, EVERYTHING),
        differs="denied by default: a call reads the files that its caller named; others need a store that knows whom each belongs to, which is not built yet",
    ),
    Row(
        "5:18-sync-api",
        "Artifacts can be read without a loop, and the model asked without blocking one.",
        (OWN_FILES_IN, OWN_MODEL, VERSIONS, f"{MODEL_CHANNEL}::test_a_sync_and_an_async_tool_ask_the_model"),
    ),
]

_CHANNELS = [
    Row(
        "5:D-status",
        "None lost, glued or stalled.",
        (
            OWN_STATUSES,
            STATUSES,
            f"{STATUS_CHANNEL}::test_a_flood_and_long_lines_arrive_whole_and_in_order",
            f"{STATUS_CHANNEL}::test_a_host_without_a_reader_costs_one_short_wait_and_not_one_per_message",
        ),
    ),
    Row(
        "5:D-model",
        "Bounded in time, and answers are told apart.",
        (
            OWN_MODEL,
            GO_MODEL,
            _SILENT,
            f"{MODEL_CHANNEL}::test_notifications_and_answers_to_other_calls_are_passed_over",
        ),
    ),
    Row(
        "5:D-model-text",
        "Text in and out, with tokens and the models that the agent allows.",
        (
            _QUESTION,
            EVERYTHING,
            f"{TOOL_MODELS}::test_tool_asks_the_model_of_the_executor",
            f"{TOOL_MODELS}::test_agent_has_its_model_and_says_which_others_its_tools_may_choose",
        ),
        differs="no stream: published clients take any line as the answer, so it could only be ours, and a tool's own "
        "person does not read along",
    ),
    Row(
        "5:D-progress",
        "A part from 0 to 1 reaches the caller.",
        (_PROGRESS, f"{STATUS_CHANNEL}::test_messages_are_text_and_progress_carries_a_fraction"),
    ),
    Row(
        "5:D-cancellation",
        "A tool is told, may put things away, and is then ended.",
        (
            OWN_CANCELLED,
            _CANCELLED,
            f"{GO}::test_cancelled_and_drained_go_tools_put_things_away_first",
            f"{WORKER}/test_worker_delivery.py::test_running_call_is_cancelled_at_once",
        ),
    ),
    Row(
        "5:D-log",
        "What a tool logs reaches the operator's log with its call, louder when it failed; stderr is the channel.",
        (
            OWN_LOG,
            f"{LAUNCHER}::test_logging_of_a_tool_reaches_stderr",
            f"{INTERPRETATION}::test_operator_gets_stderr_beside_the_traceback",
        ),
    ),
    Row(
        "5:D-metrics",
        "Time, CPU and memory of each call are measured from outside.",
        (
            f"{OUTCOMES}::test_result_counts_although_the_process_stays",
            "tests/integration/sandbox/test_bwrap_lifetime.py::test_usage_covers_every_process_of_the_sandbox",
        ),
        differs="a tool can not add series to the worker's metrics: names and labels that a sandboxed program chooses would be without bound",
    ),
    Row(
        "5:E-arguments-file",
        "Null, marks, missing places and poor locales cost no call.",
        (
            OWN_CALLER,
            ODD_FIELDS,
            f"{FAILED_CALLS}::test_null_containers_and_a_byte_order_mark_are_tolerated",
            f"{ARGUMENTS_FILE}::test_an_artifact_without_a_path_is_one_that_did_not_come",
            f"{ARGUMENTS_FILE}::test_no_variable_of_the_environment_is_needed_or_obeyed",
        ),
    ),
    Row(
        "5:E-list",
        "A file that is a list ends with 1 and its reason, without a trace.",
        (f"{FAILED_CALLS}::test_an_unusable_arguments_file_is_told_on_stderr",),
        apart="the worker writes the file itself, always as one object",
    ),
    Row(
        "5:E-output-folder",
        "Nothing is made that was not asked for.",
        (
            OWN_CALLER,
            ODD_FIELDS,
        ),
    ),
]

_SECURITY = [
    Row(
        "5:security-links",
        "Links and special files in the outputs are refused one by one.",
        (
            HOSTILE_OUTPUTS,
            f"{_OUTPUTS}::test_links_and_special_files_are_refused_one_by_one",
            f"{_OUTPUTS}::test_hard_links_are_refused",
        ),
    ),
    Row(
        "5:security-sizes",
        "Sparse and large files, floods and deep trees are bounded.",
        (
            HOSTILE_OUTPUTS,
            f"{_OUTPUTS}::test_sparse_and_large_files_count_with_their_full_size",
            f"{_OUTPUTS}::test_the_total_and_the_number_of_files_are_bounded",
            f"{_OUTPUTS}::test_deep_trees_end_at_the_depth_limit",
            f"{_OUTPUTS}::test_a_flood_of_entries_is_cut",
        ),
    ),
    Row(
        "5:security-result-file",
        "A result that is a link, a FIFO or too large is refused without waiting.",
        (
            HOSTILE_RESULTS,
            f"{_OUTPUTS}::test_a_result_that_is_no_ordinary_file_is_refused_without_waiting",
            f"{_OUTPUTS}::test_a_result_file_is_read_up_to_its_cap",
            f"{INTERPRETATION}::test_refused_result_file_is_an_error_that_says_why",
        ),
    ),
    Row(
        "5:security-names",
        "Names are never trusted.",
        (HOSTILE_OUTPUTS, OWN_FILES_OUT, f"{_OUTPUTS}::test_odd_names_are_refused_and_shown_harmlessly", EVERYTHING),
    ),
    Row(
        "5:security-arguments",
        "Settings lie in a private folder that other calls don't see and that goes with the call.",
        (
            NEIGHBOURS,
            OWN_CALLER,
            "tests/unit/sandbox/test_workspaces.py::test_a_workspace_is_private_and_gone_afterwards",
            "tests/unit/sandbox/test_workspaces.py::test_files_fifos_and_sockets_become_the_tools",
            "tests/integration/sandbox/test_bwrap_isolation.py::test_the_workspace_of_another_call_is_not_visible",
        ),
    ),
    Row("5:security-profile", "The profile is the token's.", (EVERYTHING, WHO_CALLS)),
]

_REPAIRS = [
    Row(
        "5:host-arguments",
        "Arguments are converted and checked before the start, for both languages.",
        (
            RELEASES,
            GO_ARGUMENTS,
            f"{ARGUMENT_RULES}::test_value_is_converted_where_the_schema_leaves_no_doubt",
            f"{ARGUMENT_RULES}::test_value_that_can_not_be_meant_is_named",
            f"{ARGUMENT_RULES}::test_every_missing_argument_is_named_at_once",
        ),
    ),
    Row(
        "5:host-artifacts",
        "Files are shown as names, missed before the start, and kept apart by version.",
        (
            FILE_LISTS,
            GO_ARTIFACTS,
            f"{PRESENTATION}::test_artifact_is_advertised_as_the_name_of_a_file",
            f"{ARGUMENT_RULES}::test_artifact_that_did_not_come_along_is_refused",
            VERSIONS,
        ),
    ),
    Row(
        "5:host-descriptions",
        "First paragraph, and no text twice.",
        (
            EVERY_STYLE,
            RELEASES,
            f"{PRESENTATION}::test_first_paragraph_is_the_description_and_nothing_else_is_lost",
            f"{PRESENTATION}::test_instructions_do_not_repeat_the_parameters",
        ),
    ),
    Row(
        "5:host-shapes",
        "Every shape of result is read.",
        (
            SHAPES,
            GO_RESULTS,
            f"{ENVELOPE}::test_any_json_value_is_read_without_a_crash",
            f"{WORKER}/test_generated_tools.py::test_every_made_up_tool_has_its_right_outcome",
        ),
    ),
    Row(
        "5:host-files",
        "Files and objects of one name are one output, with a type from name or declaration.",
        (
            GO_ARTIFACTS,
            f"{OUTPUT_FILES}::test_file_keeps_what_its_object_or_the_index_says",
            f"{OUTPUT_FILES}::test_output_given_twice_is_kept_once",
        ),
    ),
    Row(
        "5:host-redaction",
        "Secrets and the machine's paths are hidden, the trace is in the log.",
        (
            SEALED,
            SHAPES,
            f"{HOST_REPAIRS}::test_paths_of_the_machine_become_those_of_the_tool",
            f"{ENVELOPE}::test_exception_gives_the_model_one_line_and_the_operator_the_rest",
        ),
    ),
    Row(
        "5:host-channels", "The pipe is open before the start, the model answers in time.", (_FIFO, STATUSES, GO_MODEL)
    ),
    Row(
        "5:host-end",
        "A written result ends the wait, and what is left of the process with it.",
        (f"{OUTCOMES}::test_result_counts_although_the_process_stays", SHAPES),
    ),
    Row("5:host-launcher", "Unchanged tools of every release get what they ask for.", (REPAIRED, RELEASES)),
    Row(
        "5:host-strict",
        "One key leaves the package exactly as it is.",
        (
            f"{FORMS}::test_strict_mode_is_the_package_itself",
            "tests/integration/runtime/test_published_sdk_calls.py::test_strict_toolset_runs_as_the_package_alone",
        ),
    ),
]

_OWN = [
    Row(
        "5:own-names",
        "Every published name and module is there.",
        (
            OWN_NAMES,
            f"{LAUNCHER}::test_the_alias_offers_every_published_name_and_module",
            f"{LAUNCHER}::test_a_tool_finds_the_sdk_under_both_names",
        ),
    ),
    Row(
        "5:own-annotations",
        "Annotations are read as Python means them, and values built.",
        (_AT_WORK, _FAITHFUL, _REFUSED),
    ),
    Row(
        "5:own-styles",
        "Sync and async everywhere, the context in any form.",
        (
            EVERY_FORM_AT_WORK,
            OWN_SHAPES,
            _EVERY_FORM,
            _CALLABLES,
            f"{PROVIDERS}::test_init_and_cleanup_run_around_the_call_in_one_event_loop_also_when_it_fails",
        ),
    ),
    Row(
        "5:own-embeds",
        "What stays raw, and when embeds are resolved, is in the schema.",
        (
            EVERY_STYLE,
            DECLARED,
        ),
    ),
    Row(
        "5:own-artifacts",
        "Files that came are listed and read; others are not fetched.",
        (OWN_FILES_IN, VERSIONS, _NOT_HERE),
        differs="denied by default: a call reads the files that its caller named; others need a store that knows whom each belongs to, which is not built yet",
    ),
    Row(
        "5:own-status",
        "Statuses go through the pipe, whole.",
        (STATUSES, _PROGRESS),
        differs="the pipe is what published tools and hosts have; nothing is lost, glued or held up on it now, which a second channel was to cure",
    ),
    Row(
        "5:own-request-ids",
        "Answers are matched by number.",
        (OWN_MODEL, f"{MODEL_CHANNEL}::test_notifications_and_answers_to_other_calls_are_passed_over", _QUESTION),
    ),
    Row(
        "5:own-streaming",
        "One text a question, with its tokens.",
        (
            OWN_MODEL,
            _QUESTION,
            f"{TOOL_MODELS}::test_tool_asks_the_model_of_the_executor",
        ),
        differs="the model's answer has no parts on the broker either",
    ),
    Row(
        "5:own-cancellation",
        "SIGTERM ends a tool as an exception, with its envelope.",
        (
            OWN_CANCELLED,
            _CANCELLED,
        ),
    ),
    Row(
        "5:own-atomic",
        "A result is renamed into its place.",
        (_WHOLE,),
        apart="what a file holds between two writes is no outcome of a call",
    ),
    Row(
        "5:own-errors",
        "Class, message and retry are told.",
        (
            OWN_SHAPES,
            _RAISED,
        ),
    ),
    Row(
        "5:own-sidecar",
        "An index beside the files keeps what they can't say.",
        (OWN_FILES_OUT, _SAVED, f"{OUTPUT_FILES}::test_malformed_index_counts_as_absent"),
    ),
    Row(
        "5:own-try",
        "An author runs a tool without any server.",
        ("tests/e2e/test_first_tool.py::test_a_run_ends_as_a_call_does",),
        differs="`toolmesh tool run` does it in the sandbox, with the checks of a worker; a runner of the SDK would be without both",
        apart="by its nature: a command without broker and worker, in the same sandbox",
    ),
    Row(
        "5:own-lazy",
        "No heavy module is loaded for a plain call.",
        (f"{LAUNCHER}::test_a_plain_call_loads_no_heavy_module",),
        apart="a cost, not an outcome; make sdk-cost prints it",
    ),
]

ROWS = [*_CALLING, *_SCHEMA, *_RESULTS, *_CHANNELS, *_SECURITY, *_REPAIRS, *_OWN]
