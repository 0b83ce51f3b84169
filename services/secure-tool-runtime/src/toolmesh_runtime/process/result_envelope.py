"""Reads a tool's result envelope in every shape that SDKs and tools write (`{"result": ..., "error": ...}`)."""

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from toolmesh_contracts.envelopes.reply import ErrorInfo, Outcome
from toolmesh_contracts.errors import ErrorCode
from toolmesh_runtime.process.json_repair import read_json, to_json

__all__ = ["DataObject", "ToolReturn", "failure", "read_envelope"]

_OUTCOMES: Final[Mapping[str, Outcome]] = {
    "success": Outcome.OK,
    "error": Outcome.ERROR,
    "partial": Outcome.PARTIAL,
    "pending": Outcome.PENDING,
}
_AUTH_REQUIRED: Final = "AUTH_REQUIRED"
_SIGN_IN: Final = "sign in to the service that the tool uses, then call it again"
_INVALID_ARGUMENTS: Final = "InvalidArgumentsError"
_SPEAKING: Final = frozenset({"ToolError", _INVALID_ARGUMENTS})
"""Errors of our SDK whose message is meant for the model as it is."""
_MAX_ERROR: Final = 2000
_PYTHON_ERROR: Final = "Execution error: "
_TRACEBACK: Final = "Traceback (most recent call last):"
_UNFINISHED: Final = re.compile(r"<(coroutine|generator|async_generator) object \S+ at 0x[0-9a-f]+>")
"""How published SDKs write what a tool has not finished, as a success."""
_GO_PANIC: Final = "panic"
_GO_LINE_END: Final = " | "
_MAX_NOTES: Final = 50


@dataclass(frozen=True, slots=True)
class DataObject:
    """A named output that the tool returned in its result."""

    name: str
    content: bytes | None
    """None when the bytes are a file of this name in the output folder."""
    mime_type: str
    disposition: str
    is_text: bool = True
    description: str | None = None
    preview: str | None = None
    metadata: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ToolReturn:
    """What a tool's process left behind."""

    outcome: Outcome
    message: str = ""
    data: bytes | None = None
    """JSON."""
    error: ErrorInfo | None = None
    data_objects: tuple[DataObject, ...] = ()
    notes: tuple[str, ...] = field(default=())
    log: str = ""
    """Details for the operator's log, such as a traceback; never sent to the model."""


def failure(code: ErrorCode, message: str, *, kind: str = "", retryable: bool = False, log: str = "") -> ToolReturn:
    """Return an error outcome."""
    error = ErrorInfo(code=code, message=message[:_MAX_ERROR], type=kind[:200], retryable=retryable)
    return ToolReturn(outcome=Outcome.ERROR, message=error.message, error=error, log=log)


def read_envelope(data: bytes) -> ToolReturn:
    """Read the result file's bytes. Never raises: what can't be read is an error outcome that says why."""
    try:
        repaired = read_json(data)
    except ValueError as error:
        return failure(ErrorCode.EXECUTION_ERROR, f"the tool's result is no valid JSON: {error}")
    envelope = repaired.value
    if not isinstance(envelope, dict) or not envelope.keys() & {"result", "error"}:
        return failure(ErrorCode.EXECUTION_ERROR, "the tool's result file has neither 'result' nor 'error'")
    returned = _from_exception(envelope) if envelope.get("error") else _from_value(envelope.get("result"))
    return replace(returned, notes=(*repaired.notes, *_texts(envelope.get("notes")), *returned.notes))


def _from_exception(envelope: dict[str, Any]) -> ToolReturn:
    text = str(envelope["error"])
    detail = envelope.get("error_detail")
    if isinstance(detail, dict) and detail.get("message") is not None:
        kind, message = str(detail.get("type") or ""), str(detail["message"])
        code = ErrorCode.INVALID_ARGUMENTS if kind == _INVALID_ARGUMENTS else ErrorCode.TOOL_ERROR
        if kind and kind not in _SPEAKING:
            message = f"{kind}: {message}"
        return failure(code, message, kind=kind, retryable=detail.get("retryable") is True, log=text)
    kind, message = _told_by_exception(text)
    return failure(ErrorCode.TOOL_ERROR, message, kind=kind, log=text)


def _told_by_exception(text: str) -> tuple[str, str]:
    """Return class and message of an error in a published SDK's text; the traceback is for the operator.

    Python gives `Execution error: MESSAGE`, then the traceback, whose end has the class and the message again. Go gives
    one line, in which ` | ` stands for a line end.
    """
    if text.startswith(_GO_PANIC):
        return "panic", text.split(_GO_LINE_END, 1)[0]
    lines = [line.strip() for line in text.splitlines() if line.strip()] or ["the tool failed"]
    message, separator, trace = text.removeprefix(_PYTHON_ERROR).partition(f"\n{_TRACEBACK}")
    trace = trace.rstrip()
    if separator and message.strip() and trace.endswith(message.rstrip()):
        start = trace.rfind("\n", 0, len(trace) - len(message.rstrip())) + 1
        last = trace[start:]
    else:
        last = lines[-1] if len(lines) > 1 else lines[0].removeprefix(_PYTHON_ERROR)
    head, colon, _ = last.partition(": ")
    return (head if colon and head.replace(".", "").replace("_", "").isalnum() else ""), last


def _from_value(value: Any) -> ToolReturn:
    if value is None:
        return ToolReturn(outcome=Outcome.OK)
    if isinstance(value, str):
        return ToolReturn(outcome=Outcome.OK, message=value)
    if not isinstance(value, dict):
        return ToolReturn(outcome=Outcome.OK, data=to_json(value))
    if value.get("_schema") == "ToolResult" or (isinstance(value.get("status"), str) and "message" in value):
        return _from_tool_result(value)
    if value.keys() == {"text", "data_objects"}:
        text = value["text"]
        if isinstance(text, str) and (unfinished := _UNFINISHED.fullmatch(text)):
            message = f"the tool returned a {unfinished[1].replace('_', ' ')} instead of a result: an await is missing"
            return failure(ErrorCode.TOOL_ERROR, message)
        returned = ToolReturn(outcome=Outcome.OK, message=text if isinstance(text, str) else "")
        return _with_data_objects(returned, value["data_objects"])
    return ToolReturn(outcome=Outcome.OK, data=to_json(value))


def _from_tool_result(value: dict[str, Any]) -> ToolReturn:
    message, data = value.get("message"), value.get("data")
    if message is None:
        message = ""
    elif not isinstance(message, str):
        # `ToolResult.ok({...})` puts the value where the text belongs.
        if data is None:
            message, data = "", message
        else:
            message = to_json(message).decode()
    status, code = value.get("status"), value.get("error_code")
    if code == _AUTH_REQUIRED:
        error = ErrorInfo(code=ErrorCode.AUTH_REQUIRED, message=message or "Authentication required", hint=_SIGN_IN)
        told = None if data is None else to_json(data)
        return ToolReturn(outcome=Outcome.AUTH_REQUIRED, message=error.message, data=told, error=error)
    outcome = _OUTCOMES.get(status) if isinstance(status, str) else None
    if outcome is None:
        return failure(ErrorCode.TOOL_ERROR, f"the tool returned the unknown status {status!r}: {message}")
    error_info = None
    if outcome is Outcome.ERROR:
        text = message or "the tool reported an error without a message"
        error_info = ErrorInfo(
            code=ErrorCode.TOOL_ERROR,
            message=text[:_MAX_ERROR],
            type=str(code or "")[:200],
            retryable=value.get("retryable") is True,
        )
    returned = ToolReturn(
        outcome=outcome,
        message=message,
        data=to_json(data) if data is not None else None,
        error=error_info,
    )
    returned = _with_data_objects(returned, value.get("data_objects") or [])
    return replace(returned, notes=(*_texts(value.get("data_object_errors")), *returned.notes))


def _with_data_objects(returned: ToolReturn, entries: Any) -> ToolReturn:
    objects, notes = [], []
    for entry in entries if isinstance(entries, list) else []:
        try:
            objects.append(_data_object(entry))
        except ValueError as error:
            notes.append(f"an output of the tool was dropped: {error}")
    return replace(returned, data_objects=tuple(objects), notes=tuple(notes))


def _data_object(entry: Any) -> DataObject:
    if not isinstance(entry, dict):
        raise ValueError("it is no object")  # noqa: TRY004 - the reader handles one kind
    name, content = entry.get("name"), entry.get("content")
    if not isinstance(name, str) or not name:
        raise ValueError("it has no name")
    if entry.get("is_binary") and isinstance(content, str):
        try:
            raw: bytes | None = base64.b64decode(content, validate=True)
        except binascii.Error as error:
            raise ValueError(f"the content of {name!r} is no base64") from error
    elif content is None:
        raw = None
    else:
        raw = content.encode() if isinstance(content, str) else to_json(content)
    metadata = entry.get("metadata")
    return DataObject(
        name=name,
        content=raw,
        mime_type=str(entry.get("mime_type") or "application/octet-stream"),
        disposition=str(entry.get("disposition") or "auto"),
        is_text=not entry.get("is_binary"),
        description=_optional_text(entry.get("description")),
        preview=_optional_text(entry.get("preview")),
        metadata=metadata if isinstance(metadata, dict) else None,
    )


def _texts(value: Any) -> tuple[str, ...]:
    """Return the texts that an SDK adds for the caller, such as outputs that it could not keep."""
    items = value if isinstance(value, list) else []
    return tuple(item if isinstance(item, str) else to_json(item).decode() for item in items[:_MAX_NOTES])


def _optional_text(value: Any) -> str | None:
    return None if value is None else str(value)
