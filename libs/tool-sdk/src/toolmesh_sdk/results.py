"""What a tool returns: `ToolResult`, and the files or texts it produces: `DataObject`."""

from __future__ import annotations

from enum import Enum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SCHEMA_NAME = "ToolResult"
SCHEMA_VERSION = "1.0"


class DataDisposition(str, Enum):  # noqa: UP042 - StrEnum would not change what str() gives here
    """Where a data object goes: stored as an artifact, shown inline, or as its size decides."""

    AUTO = "auto"
    ARTIFACT = "artifact"
    INLINE = "inline"
    ARTIFACT_WITH_PREVIEW = "artifact_with_preview"

    # str() differs between Python 3.11 and 3.12 for mixed-in enums; the wire wants the value.
    __str__ = str.__str__


def disposition_text(disposition: object) -> str:
    """Return a disposition as the wire has it, also for values that this release does not know."""
    return str(disposition.value) if isinstance(disposition, Enum) else str(disposition)


class _Record:
    """Equality and repr over `_fields`; dataclasses would cost 10 ms of import."""

    _fields: tuple[str, ...] = ()
    __hash__ = None  # type: ignore[assignment]  # mutable, as a dataclass would be

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self._fields)

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._fields)
        return f"{type(self).__name__}({inside})"


class DataObject(_Record):
    """One piece of output beside the message.

    Args:
        name: File name, relative, sub-folders allowed.
        content: Text or bytes.
        mime_type: Its media type.
        disposition: Stored, inline, or as the host decides.
        description: One sentence for the model.
        preview: What the model sees of a stored object.
        metadata: Free JSON values kept with a stored object.
    """

    _fields = ("name", "content", "mime_type", "disposition", "description", "preview", "metadata")

    def __init__(
        self,
        name: str,
        content: str | bytes,
        mime_type: str = "text/plain",
        disposition: DataDisposition = DataDisposition.AUTO,
        description: str | None = None,
        preview: str | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        self.name = name
        self.content = content
        self.mime_type = mime_type
        self.disposition = disposition
        self.description = description
        self.preview = preview
        self.metadata = metadata

    def to_serializable(self) -> dict[str, Any]:
        """Return the wire form: UTF-8 bytes travel as text, other bytes as base64."""
        content: object = self.content
        is_binary = False
        if isinstance(content, bytes | bytearray | memoryview):
            try:
                content = bytes(content).decode("utf-8")
            except UnicodeDecodeError:
                from base64 import b64encode

                content, is_binary = b64encode(self.content).decode("ascii"), True  # type: ignore[arg-type]
        return {
            "name": self.name,
            "content": content,
            "is_binary": is_binary,
            "mime_type": self.mime_type,
            "disposition": disposition_text(self.disposition),
            "description": self.description,
            "preview": self.preview,
            "metadata": self.metadata,
        }

    def model_dump(self, *_args: object, **_options: object) -> dict[str, Any]:
        """Return the wire form; the arguments of pydantic's method of that name are accepted and ignored."""
        return self.to_serializable()

    @classmethod
    def from_serialized(cls, data: dict[str, Any]) -> DataObject:
        """Build a data object from its wire form.

        Raises:
            ValueError: A field is missing or its base64 is broken.
        """
        missing = [name for name in ("name", "content") if data.get(name) is None]
        if missing:
            raise ValueError(f"data object lacks {' and '.join(missing)}")
        content: object = data["content"]
        if data.get("is_binary") and isinstance(content, str):
            from base64 import b64decode

            content = b64decode(content, validate=True)
        disposition: object = data.get("disposition") or DataDisposition.AUTO
        if disposition in {member.value for member in DataDisposition}:  # a later release's word is kept as it is
            disposition = DataDisposition(disposition)
        return cls(
            name=str(data["name"]),
            content=content,  # type: ignore[arg-type]
            mime_type=str(data.get("mime_type") or "text/plain"),
            disposition=disposition,  # type: ignore[arg-type]
            description=data.get("description"),
            preview=data.get("preview"),
            metadata=data.get("metadata"),
        )


class ToolResult(_Record):
    """The outcome of a call. Build it with `ok`, `error`, `partial`, `pending` or `auth_required`."""

    _fields = ("status", "message", "data", "data_objects", "error_code")

    def __init__(
        self,
        status: str = "success",
        message: object = "",
        data: dict[str, Any] | None = None,
        data_objects: list[DataObject] | None = None,
        error_code: str | None = None,
    ) -> None:
        self.status = status
        self.message = message
        self.data = data
        self.data_objects = data_objects if data_objects is not None else []
        self.error_code = error_code

    @classmethod
    def ok(
        cls, message: object, data: dict[str, Any] | None = None, data_objects: list[DataObject] | None = None
    ) -> ToolResult:
        """Return a success. `message` may be any JSON value; text reads best."""
        return cls("success", message, data, data_objects)

    @classmethod
    def error(
        cls,
        message: object,
        code: str | None = None,
        data: dict[str, Any] | None = None,
        *,
        error_code: str | None = None,
    ) -> ToolResult:
        """Return a failure that the model should read; `code` (or `error_code`) is for programs."""
        return cls("error", message, data, None, code if code is not None else error_code)

    @classmethod
    def partial(
        cls,
        message: object,
        data: dict[str, Any] | None = None,
        data_objects: list[DataObject] | None = None,
        error_code: str | None = None,
        *,
        code: str | None = None,
    ) -> ToolResult:
        """Return what could be done, saying in `message` what could not."""
        return cls("partial", message, data, data_objects, error_code if error_code is not None else code)

    @classmethod
    def pending(
        cls, message: object, data: dict[str, Any] | None = None, data_objects: list[DataObject] | None = None
    ) -> ToolResult:
        """Return a question to a person; `data` carries `hil_request_id` and what the host needs to ask it."""
        return cls("pending", message, data, data_objects)

    @classmethod
    def auth_required(cls, message: object = "Authentication required") -> ToolResult:
        """Return that the person must sign in first."""
        return cls("error", message, error_code="AUTH_REQUIRED")

    def to_serializable(self) -> dict[str, Any]:
        """Return the wire form; empty `data` and `data_objects` are left out."""
        wire: dict[str, Any] = {
            "_schema": SCHEMA_NAME,
            "_schema_version": SCHEMA_VERSION,
            "status": disposition_text(self.status),
            "message": "" if self.message is None else self.message,
            "error_code": self.error_code,
        }
        if self.data:
            wire["data"] = self.data
        if self.data_objects:
            wire["data_objects"] = [
                entry.to_serializable() if hasattr(entry, "to_serializable") else entry for entry in self.data_objects
            ]
        return wire

    def model_dump(self, *_args: object, **_options: object) -> dict[str, Any]:
        """Return the wire form; the arguments of pydantic's method of that name are accepted and ignored."""
        return self.to_serializable()

    @classmethod
    def from_serialized(cls, data: dict[str, Any]) -> ToolResult:
        """Build a result from its wire form; data objects that are broken are left out with a warning.

        Raises:
            ValueError: `data` carries no ToolResult marker.
        """
        if not cls.is_serialized_tool_result(data):
            raise ValueError(f"not a serialized ToolResult: no _schema {SCHEMA_NAME!r}")
        objects: list[DataObject] = []
        entries = data.get("data_objects")
        for entry in entries if isinstance(entries, list) else []:
            try:
                objects.append(DataObject.from_serialized(entry))
            except (ValueError, TypeError, AttributeError) as problem:
                from warnings import warn

                warn(f"data object left out: {problem}", stacklevel=2)
        return cls(
            status=str(data.get("status") or "success"),
            message=data.get("message", ""),
            data=data.get("data"),
            data_objects=objects,
            error_code=data.get("error_code"),
        )

    @staticmethod
    def is_serialized_tool_result(data: object) -> bool:
        """Say whether `data` is the wire form of a ToolResult."""
        return isinstance(data, dict) and data.get("_schema") == SCHEMA_NAME
