"""From an annotation, in any form Python allows, to a parameter type."""

from __future__ import annotations

import sys

from .scalars import ANY, BOOLEAN, INTEGER, NULL, NUMBER, OPAQUE, TEXT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .base import ParameterType

_SIMPLE: dict[object, ParameterType] = {
    str: TEXT,
    int: INTEGER,
    float: NUMBER,
    bool: BOOLEAN,
    None: NULL,
    type(None): NULL,
    object: ANY,
}
_CONTEXT_NAMES = ("SandboxToolContextFacade", "ToolContextFacade", "ToolContext")


class Injected:
    """A parameter that the SDK fills itself: the call's context."""

    __slots__ = ()
    name = "context"
    json_types: tuple[str, ...] = ()

    def schema(self, book: object) -> dict[str, Any]:
        """Return nothing: the model never sees it."""
        return {}

    def build(self, value: Any, path: str, files: object) -> Any:
        """Return the value as it is."""
        return value


CONTEXT = Injected()


def read_annotation(annotation: object, namespace: dict[str, Any]) -> ParameterType:
    """Return the type of an annotation; text in it is looked up in `namespace`."""
    try:
        if (simple := _SIMPLE.get(annotation)) is not None:
            return simple
    except TypeError:  # an unhashable annotation
        return AnnotationReader(namespace).unknown(annotation)
    if isinstance(annotation, type) and annotation.__name__ in _CONTEXT_NAMES:
        return CONTEXT
    return AnnotationReader(namespace).read(annotation)


class AnnotationReader:
    """Reads annotations in one namespace.

    Args:
        namespace: Where names in text annotations are looked up.
        records: Record types met so far, shared so that a class that contains itself is read once.
    """

    __slots__ = ("_namespace", "_records")

    def __init__(self, namespace: dict[str, Any], records: dict[type, ParameterType] | None = None) -> None:
        self._namespace = namespace
        self._records: dict[type, ParameterType] = {} if records is None else records

    def inside(self, kind: type) -> AnnotationReader:
        """Return a reader for the fields of a class, which its own module's names and its own name explain."""
        namespace: dict[str, Any] = dict(self._namespace)
        for base in reversed(kind.__mro__):
            module = sys.modules.get(base.__module__)
            namespace.update(vars(module) if module else {})
        namespace[kind.__name__] = kind
        return AnnotationReader(namespace, self._records)

    def read(self, annotation: Any) -> ParameterType:
        """Return the type of an annotation; what says nothing about JSON is text of an unknown type."""
        import typing

        if isinstance(annotation, str | typing.ForwardRef):
            return self._read_text(annotation if isinstance(annotation, str) else annotation.__forward_arg__)
        origin = typing.get_origin(annotation)
        arguments = typing.get_args(annotation)
        if origin is not None:
            return self._read_generic(annotation, origin, arguments)
        return self._read_plain(annotation)

    def unknown(self, annotation: Any) -> ParameterType:
        """Return the type of an annotation that can't be read."""
        from .unknown import Unknown

        return Unknown(annotation, self._namespace)

    def without_marker(self, annotation: Any) -> tuple[Any, str | None]:
        """Return a TypedDict field's annotation without Required or NotRequired, and which one it was."""
        import typing

        if isinstance(annotation, str | typing.ForwardRef):
            text = annotation if isinstance(annotation, str) else annotation.__forward_arg__
            annotation = self._evaluated(text)
            if annotation is None:
                return text, None
        marker = getattr(typing.get_origin(annotation), "_name", None)
        if marker in ("Required", "NotRequired", "ReadOnly"):
            inner, nested = self.without_marker(annotation.__args__[0])
            return inner, nested if marker == "ReadOnly" else marker
        return annotation, None

    def _evaluated(self, text: str) -> Any:
        """Return what a text annotation means, or None; typing's names and Artifact need no import."""
        import typing

        from toolmesh_sdk.artifacts import Artifact

        fallback = {**vars(typing), "Artifact": Artifact, **self._namespace}
        carrier = type("Carrier", (), {})()
        for namespace in (self._namespace, fallback):
            carrier.__annotations__ = {"it": text}
            try:
                return typing.get_type_hints(carrier, namespace, include_extras=True)["it"]
            except Exception:  # noqa: BLE001, S112 - an annotation may be any expression and fail in any way
                continue
        return None

    def _read_text(self, text: str) -> ParameterType:
        annotation = self._evaluated(text)
        if annotation is not None:
            return self.read(annotation)
        return CONTEXT if "ToolContext" in text else self.unknown(text)

    def _read_plain(self, annotation: Any) -> ParameterType:
        import typing

        if annotation is typing.Any:
            return ANY
        if isinstance(annotation, type):
            return self._read_class(annotation)
        if (supertype := getattr(annotation, "__supertype__", None)) is not None:
            return self.read(supertype)
        if isinstance(annotation, typing.TypeVar):
            return self._read_type_variable(annotation)
        if type(annotation).__name__ == "TypeAliasType":
            return self.read(annotation.__value__)
        try:
            return _SIMPLE.get(annotation) or self.unknown(annotation)
        except TypeError:
            return self.unknown(annotation)

    def _read_type_variable(self, variable: Any) -> ParameterType:
        if variable.__constraints__:
            from .choices import UnionOf

            return UnionOf([self.read(entry) for entry in variable.__constraints__])
        return self.read(variable.__bound__) if variable.__bound__ is not None else OPAQUE

    def _read_class(self, kind: type) -> ParameterType:
        if kind in _SIMPLE:
            return _SIMPLE[kind]
        if kind.__name__ in _CONTEXT_NAMES:
            return CONTEXT
        if kind in self._records:
            return self._records[kind]
        found = self._read_container(kind, ()) or self._read_value_class(kind)
        self._records[kind] = found
        return found

    def _read_value_class(self, kind: Any) -> ParameterType:
        from toolmesh_sdk.artifacts import Artifact

        from .pydantic_models import PydanticType, is_pydantic_type
        from .text_forms import text_form

        if issubclass(kind, Artifact) or (kind.__name__ == "Artifact" and hasattr(kind, "as_bytes")):
            from .artifact_file import ArtifactFile

            return ArtifactFile()
        if hasattr(kind, "__members__"):
            from .choices import EnumOf

            return EnumOf(kind) if kind.__members__ else self.unknown(kind)
        if is_pydantic_type(kind):
            return PydanticType(kind)
        if (form := text_form(kind)) is not None:
            return form
        from .records import record_of

        return record_of(kind, self) or self.unknown(kind)

    def _read_generic(self, annotation: Any, origin: Any, arguments: tuple[Any, ...]) -> ParameterType:
        import types
        import typing

        if origin is typing.Union or origin is types.UnionType:
            return self._read_union(arguments)
        if origin is typing.Literal or getattr(origin, "_name", "") == "Literal":
            from .choices import LiteralOf

            return LiteralOf(arguments)
        if origin is typing.Annotated:
            from .constrained import Constrained

            inner = self.read(arguments[0])
            # The wrapper would hide what the host and the SDK treat apart.
            return inner if inner is CONTEXT else Constrained(inner, arguments[1:])
        if getattr(origin, "_name", "") in ("Required", "NotRequired", "ReadOnly", "Final", "ClassVar"):
            return self.read(arguments[0])
        if not isinstance(origin, type):
            return self.unknown(annotation)
        return self._read_container(origin, arguments) or self._read_generic_class(annotation, origin)

    def _read_generic_class(self, annotation: Any, origin: type) -> ParameterType:
        from .pydantic_models import PydanticType, is_pydantic_type

        return PydanticType(annotation) if is_pydantic_type(origin) else self._read_class(origin)

    def _read_union(self, members: tuple[Any, ...]) -> ParameterType:
        from .choices import OptionalOf, UnionOf

        kinds = [self.read(member) for member in members if member is not type(None)]
        if any(kind is CONTEXT for kind in kinds):
            return CONTEXT
        inner = kinds[0] if len(kinds) == 1 else UnionOf(kinds)
        return OptionalOf(inner) if type(None) in members else inner

    def _read_container(self, kind: type, arguments: tuple[Any, ...]) -> ParameterType | None:
        import collections.abc as abstract

        from .containers import ListOf, MappingOf, TupleOf

        if hasattr(kind, "_fields") or hasattr(kind, "__required_keys__") or kind in (str, bytes, bytearray):
            return None
        if kind is tuple:
            if not arguments or arguments[-1] is Ellipsis:
                return ListOf(self.read(arguments[0]) if arguments else ANY, tuple)
            return TupleOf([self.read(entry) for entry in arguments])
        if kind.__module__ not in ("builtins", "collections", "collections.abc", "typing"):
            return None
        if issubclass(kind, abstract.Mapping):
            keys, values = (self.read(entry) for entry in arguments) if len(arguments) == 2 else (TEXT, ANY)
            return MappingOf(keys, values)
        entries = self.read(arguments[0]) if arguments else ANY
        if issubclass(kind, abstract.Set):
            return ListOf(entries, frozenset if kind is frozenset else set, unique=True)
        if kind.__name__ == "deque":
            return ListOf(entries, kind)
        if kind in (list, abstract.Sequence, abstract.MutableSequence, abstract.Iterable, abstract.Collection):
            return ListOf(entries)
        return None
