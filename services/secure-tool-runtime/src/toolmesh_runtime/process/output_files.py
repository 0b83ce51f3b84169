"""Sorts what a tool left into artifacts and inline outputs."""

import json
import mimetypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from toolmesh_runtime.process.result_envelope import DataObject

__all__ = [
    "INDEX_FILE",
    "FileOutput",
    "InlineContent",
    "SortedOutputs",
    "guess_mime_type",
    "read_index",
    "sort_outputs",
]

INDEX_FILE: Final = ".toolmesh-artifacts.json"
"""Written by our SDK into the output folder: types and descriptions of the files beside it."""

AUTO_INLINE_BYTES: Final = 4096
"""`auto` outputs up to this size travel in the result."""
INLINE_TEXT_CHARACTERS: Final = 8192
"""Inline text is cut to this length."""

_INLINE: Final = "inline"
_AUTO: Final = "auto"


@dataclass(frozen=True, slots=True)
class FileOutput:
    """An output to store as an artifact: a file of the output folder, or content from the result."""

    name: str
    mime_type: str
    disposition: str
    content: bytes | None = None
    """None when the bytes are the file `name`."""
    description: str | None = None
    preview: str | None = None
    metadata: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class InlineContent:
    """A small output that travels in the result."""

    name: str
    mime_type: str
    content: bytes
    is_text: bool
    description: str | None = None
    metadata: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class SortedOutputs:
    """Where each output goes."""

    files: tuple[FileOutput, ...]
    inline: tuple[InlineContent, ...]
    notes: tuple[str, ...]


def guess_mime_type(name: str) -> str:
    """Return the media type that a file's ending stands for."""
    return mimetypes.guess_type(name, strict=False)[0] or "application/octet-stream"


def read_index(data: bytes) -> dict[str, dict[str, Any]]:
    """Read the index file; what is malformed in it counts as absent, because a tool may write anything there."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(document, dict):
        return {}
    return {name: entry for name, entry in document.items() if isinstance(entry, dict)}


def sort_outputs(
    objects: Sequence[DataObject],
    file_names: Sequence[str],
    index: Mapping[str, Mapping[str, Any]],
    short_text: Callable[[str], bytes | None],
) -> SortedOutputs:
    """Decide for every returned object and every file in the output folder where it goes.

    A file that an object names belongs to that object; the rest are artifacts of their own.

    Args:
        objects: What the result holds.
        file_names: The files of the output folder.
        index: What the index says of them.
        short_text: Gives a file's content if it is text of at most AUTO_INLINE_BYTES.
    """
    present = set(file_names)
    files: dict[str, FileOutput] = {}
    inline: list[InlineContent] = []
    notes: list[str] = []
    for item in objects:
        if item.content is None:
            if item.name in present:
                files[item.name] = _file_of(item)
            else:
                notes.append(f"output {item.name!r} has no content and is no file in the output folder")
        elif _goes_inline(item):
            inline.append(_inline_of(item, notes))
        elif item.name in files or item.name in present:
            notes.append(f"output {item.name!r} is given twice; the file was kept")
        else:
            files[item.name] = _file_of(item)
    for name in file_names:
        if name not in files and name != INDEX_FILE:
            files[name] = _file_from_index(name, index.get(name, {}))
    # Python's SDKs write an `auto` object into the folder whatever its size.
    for file in [one for one in files.values() if one.disposition == _AUTO and one.content is None]:
        if (text := short_text(file.name)) is not None:
            del files[file.name]
            inline.append(InlineContent(file.name, file.mime_type, text, True, file.description, file.metadata))
    return SortedOutputs(tuple(files.values()), tuple(inline), tuple(notes))


def _goes_inline(item: DataObject) -> bool:
    if item.disposition == _INLINE:
        return True
    return item.disposition == _AUTO and item.is_text and len(item.content or b"") <= AUTO_INLINE_BYTES


def _inline_of(item: DataObject, notes: list[str]) -> InlineContent:
    content = item.content or b""
    text = content.decode(errors="replace") if item.is_text else ""
    if len(text) > INLINE_TEXT_CHARACTERS:
        notes.append(f"inline output {item.name!r} was cut from {len(text)} to {INLINE_TEXT_CHARACTERS} characters")
        content = text[:INLINE_TEXT_CHARACTERS].encode()
    return InlineContent(item.name, item.mime_type, content, item.is_text, item.description, item.metadata)


def _file_of(item: DataObject) -> FileOutput:
    return FileOutput(
        item.name,
        item.mime_type,
        item.disposition,
        item.content,
        item.description,
        item.preview,
        item.metadata,
    )


def _file_from_index(name: str, entry: Mapping[str, Any]) -> FileOutput:
    def text(key: str) -> str | None:
        value = entry.get(key)
        return value if isinstance(value, str) else None

    metadata = entry.get("metadata")
    return FileOutput(
        name,
        text("mime_type") or guess_mime_type(name),
        text("disposition") or "artifact",
        description=text("description"),
        preview=text("preview"),
        metadata=metadata if isinstance(metadata, dict) else None,
    )
