"""The JSON Schema of a function's parameters."""

from __future__ import annotations

from .parameters.base import MISSING, SchemaBook
from .parameters.records import add_default

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .parameters.unknown import Unknown
    from .signature import Parameter


def function_schema(parameters: list[Parameter], texts: dict[str, str]) -> dict[str, Any]:
    """Return the schema of what the model sends; injected parameters are not part of it.

    Args:
        parameters: The function's parameters.
        texts: The docstring's text for each.
    """
    book = SchemaBook()
    properties: dict[str, Any] = {}
    required: list[str] = []
    extra: Any = None
    for parameter in parameters:
        if parameter.role == "kwargs":
            extra = True if parameter.annotation is MISSING else parameter.kind().schema(book)
        if parameter.role != "argument":
            continue
        properties[parameter.name] = _property(parameter, texts.get(parameter.name, ""), book)
        if parameter.required:
            required.append(parameter.name)
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    if extra is not None:
        schema["additionalProperties"] = extra
    if book.definitions:
        schema["$defs"] = book.definitions
    return schema


def unknown_annotations(parameters: list[Parameter]) -> list[tuple[str, Unknown]]:
    """Return what in the annotations of parameters says nothing, fields of classes included, by parameter."""
    found: list[tuple[str, Unknown]] = []
    for parameter in parameters:
        if parameter.role == "argument" or (parameter.role == "kwargs" and parameter.annotation is not MISSING):
            book = SchemaBook()
            parameter.kind().schema(book)
            found += [(parameter.name, annotation) for annotation in book.unknown]
    return found


def returned_schema(function: Callable[..., Any]) -> dict[str, Any] | None:
    """Return the schema of what a function returns, if that is an object with named fields."""
    from .parameters.reading import read_annotation
    from .signature import annotations_of

    annotation = annotations_of(function).get("return", MISSING)
    if annotation is MISSING:
        return None
    kind = read_annotation(annotation, getattr(function, "__globals__", {}))
    book = SchemaBook()
    schema = kind.schema(book)
    named = book.definitions.get(str(schema.get("$ref", "")).rpartition("/")[2], schema)
    # A ToolResult says how a call ended, not what it found.
    if "properties" not in named or {"status", "message", "data_objects"} <= set(named["properties"]):
        return None
    return {**schema, "$defs": book.definitions} if book.definitions else schema


def _property(parameter: Parameter, text: str, book: SchemaBook) -> dict[str, Any]:
    from .artifacts import artifact_info

    schema = parameter.kind().schema(book)
    if text:
        schema["description"] = text
    if parameter.default is not MISSING and not artifact_info(parameter.kind()).is_artifact:
        add_default(schema, parameter.default)
    return schema
