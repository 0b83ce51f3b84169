"""How a call's result is shown: as text for a person, or as one JSON document for a program."""

import contextlib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from toolmesh_cli import exit_codes
from toolmesh_cli.failures import Failure, describe
from toolmesh_cli.terminal import Terminal, visible
from toolmesh_client.result import CallResult
from toolmesh_contracts.envelopes.reply import Outcome
from toolmesh_contracts.errors import ErrorCode

__all__ = [
    "exit_code_of_result",
    "failure_document",
    "failures_as_json",
    "print_json",
    "print_result",
    "result_document",
    "show_result",
]

_RAW_CONTROL: Final = re.compile("[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def exit_code_of_result(result: CallResult) -> int:
    """Return how the command ends for a result; partial counts as done, waiting for a person does not."""
    if result.error is not None:
        return exit_codes.exit_code_of(result.error.code)
    return exit_codes.WAITING if result.outcome is Outcome.PENDING else exit_codes.OK


def show_result(
    result: CallResult,
    saved: Mapping[str, str],
    stdout: Terminal,
    stderr: Terminal,
    *,
    as_json: bool,
    more: Mapping[str, object],
) -> None:
    """Write the result for a person, or as one JSON document, to which `more` belongs, and its error for a person."""
    if not as_json:
        print_result(result, stdout, stderr)
        return
    print_json({**result_document(result, saved), **more}, stdout)
    if result.error is not None:
        stderr.error(result.error.code, result.error.message, result.error.hint)


@contextlib.contextmanager
def failures_as_json(*, wanted: bool) -> Iterator[None]:
    """Give one JSON document on stdout, if wanted, for what ends the block before there is a result."""
    try:
        yield
    except Exception as error:
        failure = describe(error)
        if wanted and failure is not None:
            print_json(failure_document(failure), Terminal.stdout())
        raise


def print_result(result: CallResult, stdout: Terminal, stderr: Terminal) -> None:
    """Write the result's text to stdout, or its error to stderr."""
    if result.error is not None:
        if result.message_is_all:
            stdout.line(visible(result.message).removesuffix("\n"))
        stderr.error(result.error.code, result.error.message, result.error.hint)
        for note in result.notes:
            stderr.warning(note)
        return
    if result.outcome is Outcome.PARTIAL:
        stderr.warning("the tool did only a part of it")
    if result.outcome is Outcome.PENDING:
        stderr.warning("the tool has not done it yet: it asks what stands below")
    if text := result.text():
        stdout.line(visible(text).removesuffix("\n"))
    if result.outcome is Outcome.PENDING:
        stderr.hint("this call is over; put the answer into the arguments of another call, as the tool describes it")


def result_document(result: CallResult, saved: Mapping[str, str]) -> dict[str, Any]:
    """Return the document of `--json`; `saved` gives the paths of artifacts that were saved."""
    usage, error = result.usage, result.error
    return {
        "outcome": result.outcome.value,
        "message": result.message,
        "data": result.data,
        "error": None
        if error is None
        else {
            "code": error.code.value,
            "message": error.message,
            "type": error.type,
            "retryable": error.retryable,
            "hint": error.hint,
        },
        "artifacts": [
            {
                "filename": one.filename,
                "version": one.version,
                "mime_type": one.mime_type,
                "description": one.description,
                "preview": one.preview,
                "metadata": None if one.metadata is None else json.loads(msgspec.json.encode(one.metadata)),
                "size": one.size,
                "sha256": one.sha256,
                "saved_as": saved.get(one.filename),
            }
            for one in result.artifacts
        ],
        "inline_outputs": [
            {"name": one.name, "mime_type": one.mime_type, "content": one.content, "is_base64": one.is_binary}
            for one in result.inline_outputs
        ],
        "notes": list(result.notes),
        "usage": None if usage is None else {name: getattr(usage, name) for name in usage.__struct_fields__},
        "tool": result.tool,
        "pool": result.pool,
        "worker": result.worker,
        "attempt": result.attempt,
        "invocation": result.invocation,
    }


def failure_document(failure: Failure) -> dict[str, Any]:
    """Return the document of `--json` for a call that never was accepted; fewer keys, the same meaning."""
    error = {
        "code": str(failure.code),
        "message": failure.message,
        "type": "",
        "retryable": False,
        "hint": failure.hint,
    }
    return {
        "outcome": Outcome.ERROR.value,
        "message": failure.message,
        "data": None,
        "error": error | {"retryable": failure.code == ErrorCode.BROKER_UNREACHABLE},
        "artifacts": [],
        "inline_outputs": [],
        "notes": [],
        "usage": None,
    }


def print_json(document: Mapping[str, Any], stdout: Terminal) -> None:
    """Write one JSON document in one line; what can't be written, or a terminal could obey, is escaped."""
    text = json.dumps(document, ensure_ascii=False)
    stdout.line(_RAW_CONTROL.sub(lambda match: f"\\u{ord(match.group()):04x}", text))
