"""The result envelope and exit codes (sections 2.4 and 2.5)."""

from tests.reference.places import (
    CONTEXT_FORMS,
    DISCOVERY,
    ENVELOPE,
    EVERYTHING,
    FAILED_CALLS,
    GO_ARTIFACTS,
    GO_RESULTS,
    HOST_REPAIRS,
    HOSTILE_RESULTS,
    INTERPRETATION,
    MISSING_ARTIFACT,
    OUTCOMES,
    OUTPUT_FILES,
    OWN_CALLER,
    OWN_FILES_IN,
    OWN_FILES_OUT,
    OWN_SHAPES,
    PROVIDERS,
    RESULT_SHAPES,
    SCHEMA_DOCUMENTS,
    SDK,
    SEALED,
    SHAPES,
    UNDESCRIBABLE,
    WAYS_TO_FAIL,
    refused,
    returned,
)
from tests.reference.row import Row

_RAISED = f"{FAILED_CALLS}::test_whatever_a_tool_raises_its_caller_gets_an_envelope"
_UNUSABLE = f"{FAILED_CALLS}::test_an_unusable_arguments_file_is_told_on_stderr"
_INLINE = f"{RESULT_SHAPES}::test_inline_objects_stay_in_the_result_and_stored_ones_leave_it"
_SORTED = f"{OUTPUT_FILES}::test_small_text_goes_inline_and_the_rest_is_stored"
_GOOD = f"{ENVELOPE}::test_successful_shapes"
_BAD = f"{ENVELOPE}::test_error_shapes"
_NO_RESULT = f"{INTERPRETATION}::test_end_without_a_result_says_why"
_UNFINISHED = "the repr of an unfinished call is no success"
_LARGE = f"{OUTCOMES}::test_large_odd_and_empty_values_arrive_right"


def _shape(name: str, outcome: str, expression: str, *others: str, differs: str = "") -> Row:
    """The row of a return value: under the worker from either SDK, as our SDK writes it, and where else it is read."""
    return Row(f"2.4:{name}", outcome, (SHAPES, OWN_SHAPES, returned(expression), *others), differs=differs)


_ENVELOPE_ROWS = [
    Row(
        "2.4:keys",
        "Result and error are what an envelope is read by; without both it is none.",
        (SHAPES, f"{ENVELOPE}::test_what_is_no_envelope_is_an_error"),
    ),
    Row(
        "2.4:size",
        "A result of tens of megabytes arrives; one over the limit is refused as too large.",
        (_LARGE, f"{INTERPRETATION}::test_refused_result_file_is_an_error_that_says_why"),
    ),
    Row(
        "2.4:exception",
        "The model is told class and message, the operator's log has the trace.",
        (
            SHAPES,
            f"{ENVELOPE}::test_exception_gives_the_model_one_line_and_the_operator_the_rest",
            f"{HOST_REPAIRS}::test_error_of_a_published_sdk_is_told_without_its_trace",
            f"{FAILED_CALLS}::test_the_traceback_goes_to_stderr_and_not_to_the_model",
        ),
    ),
    Row("2.4:exception-secrets", "A secret in an exception's text reaches neither caller nor log.", (SEALED,)),
    Row("2.4:exception-go", "Go's one line is passed on whole, and a panic without its frames.", (GO_RESULTS,)),
    _shape("ok", "A success with its text.", 'ToolResult.ok("m")', _GOOD),
    _shape(
        "ok-data",
        "Text and data both arrive, a list as well; empty data from the published SDK is none.",
        'ToolResult.ok("m", data={"a": 1})',
        _GOOD,
    ),
    _shape(
        "error",
        "A failure of the tool, with its own code as the type, and its data.",
        'ToolResult.error("bad", code="E1", data={"x": 1})',
        _BAD,
    ),
    _shape("partial", "Its own outcome, with the data.", 'ToolResult.partial("half", error_code="E2")', _GOOD),
    _shape(
        "pending",
        "Its own outcome, with the question's data for who asks it.",
        'ToolResult.pending("wait", data={"hil_request_id": "1"})',
        _GOOD,
    ),
    _shape("auth_required", "Its own outcome and code, never a plain failure.", "ToolResult.auth_required()", _BAD),
    _shape(
        "unknown-status",
        "A failure that names the status.",
        'ToolResult(status="weird")',
        _BAD,
        differs="nobody could act on a status that passes through unknown",
    ),
    _shape("ok-none", "A success without text.", "ToolResult.ok(None)", _GOOD),
    _shape(
        "ok-zero",
        "From the published SDK a success without text; ours keeps the zero.",
        "ToolResult.ok(0)",
        differs="a zero is an answer; the published SDK loses it before the host could see it",
    ),
    _shape(
        "ok-value", "An object or a list in the place of the text arrives as data.", 'ToolResult.ok({"k": [1]})', _GOOD
    ),
    _shape("none", "A success without text or data.", "None", _GOOD, GO_RESULTS),
    _shape("text", "The text.", '"plain"', _GOOD),
    _shape("number", "Its digits as text.", "42"),
    _shape("truth", "Its word as text.", "True"),
    _shape(
        "list",
        "From the published SDK Python's spelling, from ours JSON.",
        "[1, 'two']",
        differs="a model reads JSON, and our SDK can write it",
    ),
    Row(
        "2.4:bytes",
        "From the published SDK Python's spelling; from ours the text, or base64.",
        (SHAPES, f"{RESULT_SHAPES}::test_each_return_value_has_its_wire_shape"),
        differs="the spelling of bytes in Python is no content",
    ),
    _shape("tuple", "As a list.", "(1, 2)"),
    _shape("dict", "The object unchanged, as data.", '{"a": {"b": None}}', _GOOD),
    Row(
        "2.4:coroutine",
        "Awaited; one that nobody can await is a failure.",
        (
            SHAPES,
            f"{HOST_REPAIRS}::test_unfinished_value_is_no_success",
            f"{CONTEXT_FORMS}::test_every_kind_of_callable_is_a_tool_and_awaitables_are_awaited",
        ),
        differs=_UNFINISHED,
    ),
    Row(
        "2.4:generator",
        "A failure that says what is missing.",
        (SHAPES, refused("(n for n in [1])")),
        differs=_UNFINISHED,
    ),
    Row(
        "2.4:odd-values",
        "Dates, decimals, identifiers and paths arrive as text, sets from ours as lists.",
        (
            SHAPES,
            returned("{'set': {2, 1}, 'path': Path('/x'), 'id': UUID(int=1)}"),
            returned("{'when': datetime(2026, 1, 2, 3, 4)}"),
        ),
    ),
    Row(
        "2.4:nan",
        "Null in its place, with a note.",
        (
            SHAPES,
            _LARGE,
            f"{ENVELOPE}::test_nan_and_invalid_text_are_repaired_with_a_note",
            f"{RESULT_SHAPES}::test_nan_is_sent_as_null_with_a_note",
        ),
    ),
    Row("2.4:tuple-keys", "A failure; from ours with the place, and an envelope.", (SHAPES, refused("{(1, 2): 3}"))),
    Row(
        "2.4:circular",
        "A failure; from ours with the place, and an envelope.",
        (SHAPES, refused("(lambda d: d.update(me=d) or d)({})")),
    ),
    Row(
        "2.4:surrogate",
        "Replaced, since no reader of UTF-8 could take it.",
        (
            SHAPES,
            f"{RESULT_SHAPES}::test_a_lone_surrogate_is_replaced",
            f"{ENVELOPE}::test_nan_and_invalid_text_are_repaired_with_a_note",
        ),
    ),
    Row(
        "2.4:data-objects",
        "Each field is read, text and base64; unknown fields cost nothing, and a bad entry only itself.",
        (EVERYTHING, _INLINE, f"{ENVELOPE}::test_data_objects_are_read_and_bad_ones_noted"),
    ),
    Row(
        "2.4:data-objects-go",
        "An object without content is the file of its name.",
        (GO_ARTIFACTS, f"{OUTPUT_FILES}::test_file_keeps_what_its_object_or_the_index_says"),
    ),
    Row(
        "2.4:disposition-auto",
        "Short text is inline; binary and longer outputs are stored.",
        (OWN_FILES_OUT, _SORTED, _INLINE),
    ),
    Row(
        "2.4:disposition-artifact",
        "Stored, and named in the result with type and description.",
        (EVERYTHING, GO_ARTIFACTS, _SORTED, _INLINE),
    ),
    Row(
        "2.4:disposition-inline",
        "In the result, cut with a note where it is long.",
        (EVERYTHING, _INLINE, f"{OUTPUT_FILES}::test_long_inline_text_is_cut_with_a_note"),
    ),
    Row("2.4:disposition-preview", "Stored, with its preview.", (EVERYTHING, _INLINE)),
    Row(
        "2.4:disposition-unknown",
        "Our SDK leaves it in the result, and the worker stores it.",
        (OWN_FILES_OUT, _SORTED, _INLINE),
    ),
]

_SHOWN_ROWS = [
    Row(
        "2.4:shown-files",
        "What a model reads names each stored file, with type and size.",
        (
            OWN_FILES_OUT,
            "tests/unit/client/test_calls.py::test_files_go_out_and_come_back",
        ),
    ),
    Row(
        "2.4:shown-descriptions",
        "What a model reads has a stored file's description, version and preview.",
        (
            OWN_FILES_OUT,
            "tests/unit/client/test_result_text.py::test_stored_file_is_shown_with_what_its_tool_said_of_it",
        ),
    ),
]

_EXIT_ROWS = [
    Row(
        "2.5:bad-argument",
        "What is missing, unknown or wrong is an error in an envelope, and a file that did not come too.",
        (OWN_FILES_IN, f"{SDK}/test_arguments.py::test_all_problems_are_named_at_once", MISSING_ARTIFACT),
    ),
    Row(
        "2.5:returned",
        "A process that ends well with its result has this result.",
        (SHAPES, f"{INTERPRETATION}::test_written_result_of_a_process_that_ended_well_counts"),
    ),
    Row("2.5:recursion", "A failure in an envelope.", (SHAPES, _RAISED)),
    Row(
        "2.5:exit-0",
        "No success: from ours an envelope that says so, else a failure with the exit code.",
        (SHAPES, _RAISED, _NO_RESULT),
    ),
    Row(
        "2.5:exit-code",
        "A failure with the code, and the last line of stderr.",
        (SHAPES, WAYS_TO_FAIL, _NO_RESULT, f"{FAILED_CALLS}::test_an_abrupt_exit_leaves_no_result_and_the_exit_code"),
    ),
    Row(
        "2.5:interrupt",
        "A failure with the signal; from ours with an envelope.",
        (SHAPES, f"{FAILED_CALLS}::test_an_interrupt_ends_with_its_signals_code_and_an_envelope"),
    ),
    Row("2.5:base-exception", "A failure with its class; from ours in an envelope.", (SHAPES, _RAISED)),
    Row("2.5:cancelled", "A failure; from ours in an envelope, sync and async.", (SHAPES, _RAISED)),
    Row("2.5:segfault", "A failure with the signal.", (SHAPES, WAYS_TO_FAIL)),
    Row(
        "2.5:timeout",
        "A failure of its own kind, even if a result was written.",
        (WAYS_TO_FAIL, f"{INTERPRETATION}::test_time_out_beats_a_result"),
    ),
    Row(
        "2.5:bad-arguments-file",
        "Exit 1 and the reason on stderr, no trace.",
        (_UNUSABLE,),
        apart="the worker writes the file itself, always as one object",
    ),
    Row(
        "2.5:null-containers",
        "Tolerated by ours, and never written by the worker.",
        (
            OWN_CALLER,
            f"{FAILED_CALLS}::test_null_containers_and_a_byte_order_mark_are_tolerated",
        ),
        differs="null plainly means nothing, and a crash helps nobody",
    ),
    Row(
        "2.5:unwritable-result",
        "Exit 1 and the reason on stderr.",
        (HOSTILE_RESULTS, f"{FAILED_CALLS}::test_an_unwritable_result_ends_with_1_and_a_reason", _NO_RESULT),
    ),
    Row(
        "2.5:unserialisable-result",
        "A failure with the reason; from ours with an envelope and exit 0.",
        (SHAPES, f"{RESULT_SHAPES}::test_what_json_cannot_carry_is_an_error_that_names_the_place"),
    ),
    Row(
        "2.5:no-tool-name",
        "An error in an envelope.",
        (f"{PROVIDERS}::test_a_call_without_a_name_is_an_error_unless_there_is_only_one_tool",),
        differs="the caller is answered, where the published SDK leaves no result",
        apart="the worker always names the tool",
    ),
    Row(
        "2.5:no-arguments",
        "The usage on stderr, exit 1.",
        (f"{FAILED_CALLS}::test_no_arguments_print_the_usage",),
        apart="the worker never starts a program without arguments",
    ),
    Row(
        "2.5:schema-failure",
        "Exit 1, nothing on stdout, one line of reason; the worker names the tool and serves the others.",
        (
            UNDESCRIBABLE,
            f"{SCHEMA_DOCUMENTS}::test_what_cannot_be_described_is_one_line_on_stderr",
            f"{DISCOVERY}::test_broken_programs_are_named_and_the_good_one_served",
        ),
    ),
    Row(
        "2.5:thread-left",
        "The result counts after a short grace.",
        (
            SHAPES,
            f"{OUTCOMES}::test_result_counts_although_the_process_stays",
        ),
    ),
    Row(
        "2.5:child-left",
        "The result counts, and the child ends with the sandbox.",
        (
            SHAPES,
            "tests/integration/sandbox/test_bwrap_lifetime.py::test_a_background_child_that_holds_stdout_does_not_delay_the_end",
        ),
    ),
    Row(
        "2.5:failed-after-result",
        "A process that fails after its result is not trusted with it.",
        (
            HOSTILE_RESULTS,
            f"{INTERPRETATION}::test_exit_status_decides_over_a_good_result",
        ),
    ),
]

ROWS = [*_ENVELOPE_ROWS, *_SHOWN_ROWS, *_EXIT_ROWS]
