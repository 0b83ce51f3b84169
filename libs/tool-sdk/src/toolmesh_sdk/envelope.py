"""The result envelope, `{"result": ..., "error": ""}`, and how a failure is told in it."""

from __future__ import annotations

from json import dumps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_OWN_WORDS = ("ToolError", "IPCError", "InvalidArgumentsError", "UnknownToolError", "ResultNotSerialisableError")
"""Errors whose message is a sentence that was written to be read."""


def success_envelope(result: Any) -> str:
    """Return the envelope of a result, in ASCII.

    Raises:
        ResultNotSerialisableError: JSON cannot carry it.
    """
    from .plain_json import encode

    text, notes = encode(result)
    extra = f', "notes": {dumps(notes)}' if notes else ""
    return f'{{"result": {text}, "error": ""{extra}}}'


def error_envelope(problem: BaseException) -> str:
    """Return the envelope of a failure: words for the model, and `error_detail` for programs."""
    kind, message = type(problem).__name__, _message(problem)
    detail = {"type": kind, "message": message, "retryable": _is_retryable(problem)}
    # A bare message of Python's ("'city'" of a KeyError) means nothing without the type.
    words = message if kind in _OWN_WORDS else f"{kind}: {message}"
    return dumps({"result": None, "error": f"Execution error: {words}", "error_detail": detail})


def exit_code(problem: BaseException) -> int:
    """Return the exit code after a failure that the envelope tells: 0, or 128 + signal when one ended the call."""
    return {"ToolCancelledError": 143, "KeyboardInterrupt": 130}.get(type(problem).__name__, 0)


def _message(problem: BaseException) -> str:
    if isinstance(problem, SystemExit):
        return f"the tool ended itself by sys.exit({problem.code!r}) before it returned a result"
    try:
        text = str(problem)
    except Exception:  # noqa: BLE001 - an author's __str__ may fail in any way
        text = ""
    return text or "no message"


def _is_retryable(problem: BaseException) -> bool:
    declared = getattr(problem, "retryable", None)
    return declared if isinstance(declared, bool) else isinstance(problem, TimeoutError | ConnectionError)
