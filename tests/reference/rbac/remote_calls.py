"""What becomes of a remote call (section 4.4)."""

from tests.reference.row import Row

_DELIVERY = "tests/integration/runtime/test_worker_delivery.py"
_ADMISSION = "tests/unit/runtime/test_admission.py"
_ENDINGS = "tests/unit/client/test_call_endings.py"
_QUEUE = "tests/contract/test_broker_queue.py"

ROWS = [
    Row(
        "4.4:token",
        "The token is verified before the body is read; a bad one is AUTHENTICATION_FAILED.",
        (
            f"{_ADMISSION}::test_forged_calls_are_refused_before_the_body_is_read",
            f"{_ADMISSION}::test_signed_call_with_a_bad_token_is_refused_and_its_caller_told",
            f"{_DELIVERY}::test_recorded_call_is_worthless_for_any_other",
        ),
    ),
    Row(
        "4.4:no-reply-place",
        "A result goes to the executor that signed the call, and to nobody else.",
        ("tests/contract/test_broker_replies.py::test_a_result_of_an_unknown_call_or_pool_is_not_confirmed",),
        differs="there is no reply address that could be missing: it follows from the signed call",
        apart="what a listener does with a stranger's result needs no worker",
    ),
    Row(
        "4.4:tool-gone",
        "A tool that is gone leaves the catalog, and calls of it are TOOL_NOT_AVAILABLE.",
        (
            f"{_DELIVERY}::test_removed_tool_disappears_and_changed_one_is_new",
            "tests/unit/runtime/test_call_decisions.py::test_call_is_handed_back_until_nobody_can_have_its_tool",
        ),
    ),
    Row(
        "4.4:late-reply",
        "A late or unknown result is not taken, and is stored by its worker.",
        (
            "tests/contract/test_broker_replies.py::test_a_result_of_an_unknown_call_or_pool_is_not_confirmed",
            f"{_ENDINGS}::test_a_result_before_the_publishs_answer_counts",
        ),
        apart="a matter of the caller's side",
    ),
    Row(
        "4.4:time-limits",
        "A tool is stopped at its limit, the caller waits longer than the worker does.",
        (
            "tests/integration/runtime/test_go_tools.py::test_go_tool_at_its_time_limit_puts_things_away_first",
            f"{_ENDINGS}::test_a_call_that_still_runs_at_its_deadline_is_stopped",
        ),
    ),
    Row(
        "4.4:redelivery",
        "A worker that dies ends its call as WORKER_LOST; an idempotent tool runs once more.",
        (
            f"{_DELIVERY}::test_killed_worker_ends_its_call_as_lost",
            f"{_DELIVERY}::test_killed_worker_of_an_idempotent_tool_has_a_successor",
        ),
        differs="a tool that did not say that it may run twice is never run a second time",
    ),
    Row(
        "4.4:cancel",
        "Only the worker that runs the call is told, and stops the whole process group.",
        (
            f"{_DELIVERY}::test_running_call_is_cancelled_at_once",
            "tests/integration/runtime/test_go_tools.py::test_cancelled_and_drained_go_tools_put_things_away_first",
        ),
        differs="the ledger knows who runs a call, so nothing is broadcast",
    ),
    Row(
        "4.4:ack",
        "A call leaves the queue after its result is safe; unsettled, it comes again.",
        (
            f"{_QUEUE}::test_an_unsettled_call_comes_again_after_ack_wait",
            f"{_DELIVERY}::test_every_caller_hears_something_when_the_broker_restarts",
        ),
    ),
    Row(
        "4.4:concurrency",
        "What is more than a worker's slots waits in the queue, not in memory.",
        (
            f"{_QUEUE}::test_no_more_than_the_credit_is_handed_out",
            "tests/integration/runtime/test_tenant_caps.py::test_tenant_has_no_more_slots_than_its_cap",
        ),
    ),
    Row(
        "4.4:catalog",
        "Changes of a manifest are seen at once, and a later executor misses none.",
        (
            "tests/integration/runtime/test_hot_reload.py::test_what_is_removed_leaves_the_catalog_and_what_is_added_joins",
            f"{_DELIVERY}::test_later_executor_knows_the_catalog_within_a_second",
        ),
    ),
    Row(
        "4.4:tool-sync",
        "Toolsets are files of the worker's machine.",
        lacks="nothing fetches toolsets from an object store: mount or copy them, and workers see what changes",
        told_in="docs/operating.md",
        apart="there is nothing to test yet",
    ),
]
