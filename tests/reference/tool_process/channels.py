"""Statuses, questions to the model, and the environment (sections 2.6, 2.7 and 2.9)."""

from tests.reference.places import (
    ARGUMENTS_FILE,
    EVERYTHING,
    GO_FLOOD,
    GO_MODEL,
    MODEL_CHANNEL,
    MODEL_DESCRIPTOR,
    MODEL_SOCKET,
    OUTCOMES,
    OWN_LINES,
    OWN_MODEL,
    OWN_STATUSES,
    OWN_TORN,
    STATUS_CHANNEL,
    STATUS_PIPE,
    STATUSES,
    TOOL_MODELS,
)
from tests.reference.row import Row

_TEXTS = f"{STATUS_CHANNEL}::test_messages_are_text_and_progress_carries_a_fraction"
_FLOOD = f"{STATUS_CHANNEL}::test_a_flood_and_long_lines_arrive_whole_and_in_order"
_NO_READER = f"{STATUS_CHANNEL}::test_a_host_without_a_reader_costs_one_short_wait_and_not_one_per_message"
_ODD_ANSWERS = f"{MODEL_CHANNEL}::test_odd_answers_are_ipc_errors"
_OTHERS_ANSWERS = f"{MODEL_CHANNEL}::test_notifications_and_answers_to_other_calls_are_passed_over"
_BAD_LINES = f"{MODEL_SOCKET}::test_each_bad_line_has_one_answer_that_is_an_error_object"
_ENVIRONMENT = f"{OUTCOMES}::test_tool_sees_a_clean_environment"

ROWS = [
    Row("2.6:line", "One line of ASCII JSON a message, line ends inside it escaped.", (OWN_STATUSES, STATUSES, _TEXTS)),
    Row(
        "2.6:no-text",
        "A message that is no text becomes some, on either side.",
        (OWN_STATUSES, STATUSES, _TEXTS, f"{STATUS_PIPE}::test_noise_is_dropped_and_a_glued_line_is_kept"),
    ),
    Row(
        "2.6:unserialisable",
        "It is shown as text and taken.",
        (
            OWN_STATUSES,
            _TEXTS,
        ),
        differs="a status is no reason to end a tool's work",
    ),
    Row(
        "2.6:no-reader",
        "One short wait in all, then each message is refused at once; the worker always reads.",
        (_NO_READER, f"{STATUS_PIPE}::test_writer_never_meets_a_pipe_without_reader"),
        apart="the worker opens the pipe before the start and reads until the end",
    ),
    Row("2.6:no-path", "Refused at once.", (_NO_READER,), apart="the worker always gives a pipe"),
    Row(
        "2.6:reader-left",
        "Refused, and taken again once a reader is back.",
        (f"{STATUS_CHANNEL}::test_a_reader_that_left_may_come_back",),
        apart="the worker reads until the end",
    ),
    Row("2.6:plain-file", "A plain file serves as well.", (_TEXTS,), apart="the worker always gives a pipe"),
    Row(
        "2.6:full-pipe",
        "Ours waits for room; what is not taken is told as such and dropped whole.",
        (_FLOOD, f"{STATUS_CHANNEL}::test_a_line_that_was_not_begun_is_dropped_whole"),
        apart="the worker never lets the pipe fill for long; what a slower reader meets is the SDK alone",
    ),
    Row(
        "2.6:flood",
        "All of a flood arrives at the worker, from the published SDK too.",
        (OWN_STATUSES, STATUSES, _FLOOD),
    ),
    Row(
        "2.6:long-line",
        "A line longer than the room arrives whole, and the next one too.",
        (OWN_STATUSES, STATUSES, _FLOOD, f"{STATUS_CHANNEL}::test_a_torn_line_is_finished_before_the_next_one"),
    ),
    Row("2.6:go", "A flood holds no Go tool up: the worker drains the pipe.", (GO_FLOOD,)),
    Row(
        "2.6:host-resync",
        "A cut line costs only itself, one without end is bounded.",
        (
            OWN_TORN,
            f"{STATUS_PIPE}::test_noise_is_dropped_and_a_glued_line_is_kept",
            f"{STATUS_PIPE}::test_endless_line_is_bounded",
            f"{STATUS_PIPE}::test_cut_reads_give_the_same_texts",
        ),
    ),
    Row(
        "2.6:host-rate",
        "What the caller sees of a flood is merged, and its end arrives.",
        (GO_FLOOD, "tests/contract/test_broker_replies.py::test_many_statuses_are_merged_and_the_last_one_arrives"),
    ),
    Row(
        "2.7:request",
        "One line of JSON-RPC a question, numbered as text, on one connection for each process.",
        (
            EVERYTHING,
            GO_MODEL,
            f"{MODEL_CHANNEL}::test_a_sync_and_an_async_tool_ask_the_model",
            f"{MODEL_SOCKET}::test_question_has_its_answer_and_its_id",
            f"{MODEL_DESCRIPTOR}::test_forked_processes_of_a_tool_get_their_own_answers",
        ),
    ),
    Row(
        "2.7:answer",
        "One line a question, with the text and the question's number.",
        (
            GO_MODEL,
            f"{MODEL_SOCKET}::test_question_has_its_answer_and_its_id",
            f"{TOOL_MODELS}::test_published_client_asks_it_too",
        ),
    ),
    Row(
        "2.7:refusal",
        "An error object with code and message, which our client raises as the published one does.",
        (EVERYTHING, GO_MODEL, _BAD_LINES, f"{MODEL_SOCKET}::test_our_own_client_speaks_it"),
    ),
    Row(
        "2.7:only-method",
        "Any other method is refused, and the connection stays usable.",
        (
            OWN_LINES,
            _BAD_LINES,
        ),
    ),
    Row(
        "2.7:temperature",
        "0.7 unless told otherwise, always sent.",
        (
            OWN_MODEL,
            f"{MODEL_CHANNEL}::test_a_sync_and_an_async_tool_ask_the_model",
            f"{MODEL_SOCKET}::test_question_has_its_answer_and_its_id",
        ),
    ),
    Row(
        "2.7:identifier",
        "Answers to other questions and notices are passed over; an answer without a number is taken.",
        (_OTHERS_ANSWERS, f"{MODEL_CHANNEL}::test_an_answer_without_an_id_is_taken"),
        differs="taking any line shifts every later answer by one",
        apart="the worker sends no notices and no wrong numbers",
    ),
    Row(
        "2.7:silence",
        "The worker answers in time whatever the model does, and our client waits no longer than told.",
        (
            GO_MODEL,
            f"{TOOL_MODELS}::test_trouble_of_the_provider_is_dealt_with_within_the_calls_time",
            f"{MODEL_CHANNEL}::test_a_silent_host_is_a_timeout_and_its_late_answer_is_not_the_next_one",
        ),
    ),
    Row(
        "2.7:lost-connection",
        "An error, and the next question connects anew.",
        (f"{MODEL_CHANNEL}::test_a_lost_connection_is_an_error_and_the_next_call_connects_anew",),
        differs="a client that stays broken for good helps nobody",
        apart="the worker keeps the connection until the tool has ended",
    ),
    Row(
        "2.7:odd-answers",
        "Each is the one error that tools expect.",
        (_ODD_ANSWERS,),
        differs="any other exception would pass by a tool that is prepared for this one",
        apart="the answers of the worker are well formed",
    ),
    Row(
        "2.7:large",
        "Hundreds of kilobytes pass the broker both ways, and megabytes the socket; the limit is told.",
        (
            OWN_MODEL,
            f"{MODEL_CHANNEL}::test_a_large_answer_in_many_parts_is_read_whole",
            f"{MODEL_SOCKET}::test_surrogates_and_large_answers_pass",
        ),
    ),
    Row(
        "2.7:host-one-answer",
        "Every line has exactly one answer, whatever it is, and its error is an object.",
        (OWN_LINES, _BAD_LINES, f"{MODEL_SOCKET}::test_endless_line_has_one_answer_and_no_memory"),
    ),
    Row(
        "2.7:no-model",
        "An error that says so, and the tool may go on.",
        (
            EVERYTHING,
            f"{TOOL_MODELS}::test_missing_configuration_is_told_to_the_tool",
            GO_MODEL,
            f"{MODEL_CHANNEL}::test_no_socket_and_no_listener_are_ipc_errors",
        ),
    ),
    Row(
        "2.7:no-network",
        "The model is reached where the network is not: by a descriptor, or by the socket.",
        (
            f"{MODEL_DESCRIPTOR}::test_no_socket_is_open_to_a_tool_that_asks_the_model",
            "tests/integration/sandbox/test_bwrap_isolation.py::test_where_sockets_are_allowed_only_the_workspaces_own_is_reached",
            GO_MODEL,
        ),
    ),
    Row(
        "2.9:sdk",
        "The SDK needs no variable and obeys none.",
        (f"{ARGUMENTS_FILE}::test_no_variable_of_the_environment_is_needed_or_obeyed",),
        apart="what is set for a tool is the same in every call; its absence is seen only outside",
    ),
    Row("2.9:cleared", "Only a handful of variables, none of the worker's own.", (_ENVIRONMENT,)),
    Row("2.9:path", "The system's folders for programs, and UTF-8 for texts.", (_ENVIRONMENT,)),
    Row(
        "2.9:home",
        "Home and temporary files are in the call's own folder.",
        (_ENVIRONMENT,),
        differs="a folder of the call's own is removed with it, and its size is bounded",
    ),
    Row("2.9:pythonpath", "The toolset's `python` folder, then the toolset.", (_ENVIRONMENT, EVERYTHING)),
    Row(
        "2.9:python-options",
        "No compiled files are written.",
        (_ENVIRONMENT,),
        differs="set always, as every call starts in a read-only toolset; output needs no flushing by variable",
    ),
]
