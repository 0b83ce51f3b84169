"""From what a tool returned to the `result` of the envelope; stored objects go to the output folder on the way."""

from __future__ import annotations

from .results import DataObject, ToolResult, disposition_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .context import SandboxToolContextFacade

_STORED = ("auto", "artifact", "artifact_with_preview")


def outcome_of(value: Any, context: SandboxToolContextFacade) -> Any:
    """Return the wire form of a tool's return value."""
    if value is None or isinstance(value, str):
        return {"text": value, "data_objects": []}
    if hasattr(value, "to_serializable") and hasattr(value, "data_objects"):
        return _tool_result(value, context)
    if isinstance(value, dict):
        return value
    if isinstance(value, bool | int | float):
        return {"text": str(value), "data_objects": []}
    from .plain_json import bytes_as_text, encode, plain

    if isinstance(value, bytes | bytearray):
        return {"text": bytes_as_text(bytes(value)), "data_objects": []}
    # Models and dataclasses become objects; lists, sets and the rest are shown to the model as JSON text.
    made = plain(value, "result")
    if isinstance(made, dict):
        return made
    return {"text": made if isinstance(made, str) else encode(made)[0], "data_objects": []}


def _tool_result(result: Any, context: SandboxToolContextFacade) -> dict[str, Any]:
    kept: list[Any] = []
    refused: list[dict[str, str]] = []
    for entry in result.data_objects or ():
        try:
            stored = _store(_as_data_object(entry), context)
        except (ValueError, TypeError, OSError) as problem:
            name = entry.get("name") if isinstance(entry, dict) else getattr(entry, "name", None)
            refused.append({"name": str(name), "reason": str(problem)})
            continue
        if not stored:
            kept.append(entry)
    wire = ToolResult(result.status, result.message, result.data, kept, result.error_code).to_serializable()
    if refused:
        _report_refused(wire, refused)
    return wire


def _as_data_object(entry: Any) -> Any:
    if isinstance(entry, dict):
        entry = DataObject.from_serialized(entry)
    if not hasattr(entry, "content") or not hasattr(entry, "disposition"):
        raise TypeError(f"a data object is a DataObject or dict, got {type(entry).__name__}")
    if not isinstance(entry.content, str | bytes | bytearray | memoryview):
        raise TypeError(f"content must be text or bytes, got {type(entry.content).__name__}")
    return entry


def _store(entry: Any, context: SandboxToolContextFacade) -> bool:
    disposition = disposition_text(entry.disposition)
    if disposition not in _STORED:
        return False
    content = entry.content
    context.output().save(
        entry.name,
        content.encode("utf-8", "replace") if isinstance(content, str) else bytes(content),
        replace=False,
        mime_type=entry.mime_type,
        description=entry.description,
        metadata=entry.metadata,
        preview=entry.preview,
        disposition=disposition,
    )
    return True


def _report_refused(wire: dict[str, Any], refused: list[dict[str, str]]) -> None:
    """Say that objects were lost: work that is done but not kept is no success."""
    wire["data_object_errors"] = refused
    if wire["status"] == "success":
        wire["status"] = "partial"
    if isinstance(wire["message"], str):
        reasons = "; ".join(f"{entry['name']}: {entry['reason']}" for entry in refused)
        wire["message"] = f"{wire['message']} (not kept: {reasons})".strip()
