"""What a model reads of a tool's result: all of it, or a clear word on what is left out."""

import json
from typing import Final

from toolmesh_client.result import CallResult
from toolmesh_executor.loop.json_shape import json_shape

__all__ = ["tool_content"]

_CURE: Final = "ask the tool for less, such as a part or a count"


def tool_content(result: CallResult, max_bytes: int, shape_depth: int) -> str:
    """Return a result for the model, of at most `max_bytes` bytes in UTF-8.

    Args:
        result: How the call ended.
        max_bytes: Longest text. A JSON value that is longer is shown by its shape, `shape_depth` levels deep.
        shape_depth: See `max_bytes`.
    """
    text = _whole(result.text())
    if len(text.encode()) <= max_bytes:
        return text
    if result.raw_data is not None and not result.message_is_all and len(result.raw_data) > max_bytes // 2:
        value = result.data
        if not isinstance(value, str):
            shape = json.dumps(json_shape(value, shape_depth), ensure_ascii=False)
            size = f"the value has {len(result.raw_data)} bytes, over the limit of {max_bytes}"
            told = f"{size}; {_CURE}. Its shape: {shape}"
            text = _whole(f"{result.message}\n{told}" if result.message else told)
    return _cut(text, max_bytes)


def _whole(text: str) -> str:
    """Return the text without halves of characters, which no provider can be sent."""
    return text.encode(errors="replace").decode()


def _cut(text: str, max_bytes: int) -> str:
    encoded = text.encode()
    if len(encoded) <= max_bytes:
        return text
    note = f"\n[cut: the result has {len(encoded)} bytes, over the limit of {max_bytes}; {_CURE}]"
    return encoded[: max(0, max_bytes - len(note.encode()))].decode(errors="ignore") + note
