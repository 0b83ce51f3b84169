"""Objects with named fields: dataclasses, TypedDicts, NamedTuples, and classes with an annotated `__init__`."""

# ruff: noqa: D102 - ParameterType in base.py says what schema and build do
from __future__ import annotations

from .base import MISSING, ValueProblemError, decoded, problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from toolmesh_sdk.artifacts import DeliveredArtifacts

    from .base import ParameterType, SchemaBook
    from .reading import AnnotationReader


class Field:
    """One field of a record."""

    __slots__ = ("default", "description", "kind", "required")

    def __init__(self, kind: ParameterType, required: bool, default: Any = MISSING, description: str = "") -> None:
        self.kind = kind
        self.required = required
        self.default = default
        self.description = description

    def schema(self, book: SchemaBook) -> dict[str, Any]:
        """Return the field's schema with its description and default."""
        schema = self.kind.schema(book)
        if self.description:
            schema["description"] = self.description
        if self.default is not MISSING:
            add_default(schema, self.default)
        return schema


def add_default(schema: dict[str, Any], default: Any) -> None:
    """Put a default into a schema, when JSON can carry it."""
    from toolmesh_sdk.errors import ResultNotSerialisableError
    from toolmesh_sdk.plain_json import plain

    try:
        schema["default"] = plain(default)
    except ResultNotSerialisableError:
        return


class Record:
    """A class whose fields are read on first use, so that it may contain itself.

    Args:
        kind: The class.
        read_fields: Reads its fields.
        closed: Whether unknown keys are refused; a TypedDict is a dict and keeps them.
    """

    __slots__ = ("_closed", "_fields", "_kind", "_read_fields")
    name = "record"
    json_types = ("object",)

    def __init__(self, kind: type, read_fields: Callable[[], dict[str, Field]], closed: bool = True) -> None:
        self._kind = kind
        self._read_fields = read_fields
        self._fields: dict[str, Field] | None = None
        self._closed = closed

    def fields(self) -> dict[str, Field]:
        """Return the fields by name."""
        if self._fields is None:
            self._fields = self._read_fields()
        return self._fields

    def schema(self, book: SchemaBook) -> dict[str, Any]:
        name = self._kind.__name__
        if book.is_open(self._kind) or book.is_referred(self._kind):
            return book.reference(self._kind, name)
        book.open(self._kind)
        fields = self.fields()
        body: dict[str, Any] = {"type": "object"}
        if text := _class_description(self._kind):
            body["description"] = text
        body["properties"] = {key: field.schema(book) for key, field in fields.items()}
        if required := [key for key, field in fields.items() if field.required]:
            body["required"] = required
        return book.close(self._kind, name, body)

    def build(self, value: Any, path: str, files: DeliveredArtifacts) -> Any:
        value = decoded(value, "{")
        fields = self.fields()
        if isinstance(value, list) and issubclass(self._kind, tuple) and len(value) <= len(fields):
            value = dict(zip(fields, value, strict=False))
        if not isinstance(value, dict):
            raise problem(path, f"an object ({', '.join(fields)})", value)
        if missing := [key for key, field in fields.items() if field.required and key not in value]:
            raise ValueProblemError(f"{path} lacks {', '.join(missing)}")
        unknown = [key for key in value if key not in fields]
        if unknown and self._closed:
            raise ValueProblemError(f"{path} has no field {', '.join(unknown)} (it has {', '.join(fields)})")
        built = {key: fields[key].kind.build(value[key], f"{path}.{key}", files) for key in fields if key in value}
        if not self._closed:
            return {**value, **built}
        try:
            return self._kind(**built)
        except (ValueError, TypeError) as refused:
            raise ValueProblemError(f"{path}: {refused}") from None


def record_of(kind: type, reader: AnnotationReader) -> Record | None:
    """Return the record type of a class, or None when it says nothing about its fields."""
    if issubclass(kind, dict) and hasattr(kind, "__required_keys__"):
        return Record(kind, lambda: _typed_dict_fields(kind, reader), closed=False)
    if hasattr(kind, "__dataclass_fields__"):
        return Record(kind, lambda: _dataclass_fields(kind, reader))
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return Record(kind, lambda: _named_tuple_fields(kind, reader))
    if _has_annotated_init(kind):
        return Record(kind, lambda: _init_fields(kind, reader))
    return None


def _typed_dict_fields(kind: Any, reader: AnnotationReader) -> dict[str, Field]:
    fields = {}
    reader = reader.inside(kind)
    for key, written in kind.__annotations__.items():
        annotation, marker = reader.without_marker(written)
        # With postponed annotations Python itself does not see Required and NotRequired.
        required = key in kind.__required_keys__ if marker is None else marker == "Required"
        fields[key] = Field(reader.read(annotation), required, description=_field_text(kind, key))
    return fields


def _dataclass_fields(kind: Any, reader: AnnotationReader) -> dict[str, Field]:
    from dataclasses import MISSING as UNSET
    from dataclasses import fields as fields_of

    read = {}
    reader = reader.inside(kind)
    for field in fields_of(kind):
        if not field.init:
            continue
        default = field.default if field.default is not UNSET else MISSING
        factory = field.default_factory
        if factory in (list, dict, tuple):
            default = factory()
        text = field.metadata.get("description") or _field_text(kind, field.name)
        required = default is MISSING and factory is UNSET
        read[field.name] = Field(reader.read(field.type), required, default, text)
    return read


def _named_tuple_fields(kind: Any, reader: AnnotationReader) -> dict[str, Field]:
    reader = reader.inside(kind)
    annotations = getattr(kind, "__annotations__", {})
    return {
        name: Field(
            reader.read(annotations.get(name, MISSING)),
            name not in kind._field_defaults,
            kind._field_defaults.get(name, MISSING),
            _field_text(kind, name),
        )
        for name in kind._fields
    }


def _has_annotated_init(kind: type) -> bool:
    code = getattr(kind.__init__, "__code__", None)  # type: ignore[misc]
    if code is None or issubclass(kind, BaseException) or code.co_posonlyargcount:
        return False
    names = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
    return bool(names) and all(name in kind.__init__.__annotations__ for name in names)


def _init_fields(kind: Any, reader: AnnotationReader) -> dict[str, Field]:
    from toolmesh_sdk.signature import read_parameters

    return {
        parameter.name: Field(
            parameter.kind(reader.inside(kind)),
            parameter.default is MISSING,
            parameter.default,
            _field_text(kind, parameter.name),
        )
        for parameter in read_parameters(kind.__init__)[1:]
        if parameter.place not in ("args", "kwargs")
    }


def _class_description(kind: type) -> str:
    text = kind.__dict__.get("__doc__") or ""
    # dataclass and NamedTuple write the signature there when the author wrote nothing.
    if not text or text.startswith(f"{kind.__name__}("):
        return ""
    from toolmesh_sdk.docstrings import parse_docstring

    return parse_docstring(text).description


def _field_text(kind: type, name: str) -> str:
    text = kind.__dict__.get("__doc__")
    if not text:
        return ""
    from toolmesh_sdk.docstrings import parse_docstring

    return parse_docstring(text).parameters.get(name, "")
