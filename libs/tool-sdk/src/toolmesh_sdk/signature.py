"""The parameters of a callable and the part each plays: sent by the model, or filled by the SDK."""

from __future__ import annotations

from .parameters.base import MISSING, json_type

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .parameters.base import ParameterType
    from .parameters.reading import AnnotationReader

_CONTEXT_NAMES = ("ctx", "context", "tool_context")
_PLACES = {
    "POSITIONAL_ONLY": "positional",
    "POSITIONAL_OR_KEYWORD": "keyword",
    "VAR_POSITIONAL": "args",
    "KEYWORD_ONLY": "keyword",
    "VAR_KEYWORD": "kwargs",
}


class Parameter:
    """One parameter.

    Args:
        name: Its name.
        place: `positional` (only), `keyword`, `args` or `kwargs`.
        default: Its default or MISSING.
        annotation: Its annotation as written or MISSING.
        namespace: Where names in a text annotation are looked up.
    """

    __slots__ = ("_kind", "annotation", "default", "name", "namespace", "place")

    def __init__(
        self, name: str, place: str, default: object, annotation: object, namespace: dict[str, Any] | None = None
    ) -> None:
        self.name = name
        self.place = place
        self.default = default
        self.annotation = annotation
        self.namespace = namespace if namespace is not None else {}
        self._kind: ParameterType | None = None

    def kind(self, reader: AnnotationReader | None = None) -> ParameterType:
        """Return the parameter's type; without an annotation the default tells it, as far as it can."""
        if self._kind is None:
            self._kind = self._read_kind(reader)
        return self._kind

    def _read_kind(self, reader: AnnotationReader | None) -> ParameterType:
        from .parameters.reading import read_annotation
        from .parameters.scalars import OPAQUE

        if self.annotation is not MISSING:
            kind = reader.read(self.annotation) if reader else read_annotation(self.annotation, self.namespace)
        elif isinstance(self.default, bool | int | float | str):
            kind = read_annotation(type(self.default), {})
        else:
            kind = OPAQUE
        if self.default is None and kind.name not in ("optional", "opaque", "any", "context", "null"):
            from .parameters.choices import OptionalOf

            kind = OptionalOf(kind)
        return kind

    @property
    def role(self) -> str:
        """What fills it: `argument`, `context`, `legacy_context`, `config` or `self`."""
        if self.place in ("args", "kwargs"):
            return self.place
        if self.name in ("self", "cls"):
            return "self"
        if self.name == "tool_config":
            return "config"
        if self.annotation is MISSING:
            return self._unannotated_role()
        kind = self.kind().name
        # Providers of the published SDK fill this name whatever its annotation, which mostly is `Any`.
        is_context = kind == "context" or (self.name == "tool_context" and kind in ("any", "opaque"))
        return "context" if is_context else "argument"

    def _unannotated_role(self) -> str:
        if self.name not in _CONTEXT_NAMES:
            return "argument"
        # `def f(ctx, x)` is the old form, whose context had synchronous artifact methods.
        return "context" if self.default is None or self.place == "positional" else "legacy_context"

    @property
    def required(self) -> bool:
        """Whether the model must send it."""
        return self.default is MISSING and self.kind().name != "optional"

    def fallback(self) -> object:
        """Return what the parameter gets when nothing was sent."""
        return None if self.default is MISSING else self.default

    def takes_null(self) -> bool:
        """Say whether null is a value of this parameter, rather than another word for absent."""
        return self.default is MISSING or json_type(None) in self.kind().json_types


def read_parameters(function: Callable[..., Any]) -> list[Parameter]:
    """Return a callable's parameters in order.

    Raises:
        ValueError: A builtin that has no signature.
    """
    # `inspect` costs 15 ms to import; a plain function says all of it itself.
    bound = getattr(function, "__func__", None) if hasattr(function, "__self__") else None
    plain: Any = function if bound is None else bound
    if type(plain) is not type(read_parameters) or {"__wrapped__", "__signature__"} & set(vars(plain)):
        return _read_by_inspect(function)
    return _read_function(plain)[0 if bound is None else 1 :]


def annotations_of(function: Any) -> dict[str, Any]:
    """Return the annotations as written; on Python 3.14 those that cannot be evaluated come as text."""
    try:
        return getattr(function, "__annotations__", {}) or {}
    except NameError:
        import annotationlib  # type: ignore[import-not-found]

        found: dict[str, Any] = annotationlib.get_annotations(function, format=annotationlib.Format.STRING)
        return found


def _read_function(function: Any) -> list[Parameter]:
    code = function.__code__
    annotations = annotations_of(function)
    namespace = function.__globals__
    if code.co_freevars:
        cells = zip(code.co_freevars, function.__closure__, strict=True)
        namespace = {**namespace, **{name: cell.cell_contents for name, cell in cells if _is_filled(cell)}}
    names = code.co_varnames
    count = code.co_argcount
    keyword_end = count + code.co_kwonlyargcount
    defaults = dict(zip(names[:count][::-1], (function.__defaults__ or ())[::-1], strict=False))
    defaults.update(function.__kwdefaults__ or {})

    def parameter(name: str, place: str) -> Parameter:
        return Parameter(name, place, defaults.get(name, MISSING), annotations.get(name, MISSING), namespace)

    read = [parameter(name, "positional") for name in names[: code.co_posonlyargcount]]
    read += [parameter(name, "keyword") for name in names[code.co_posonlyargcount : keyword_end]]
    rest = list(names[keyword_end:])
    for flag, place in ((0x04, "args"), (0x08, "kwargs")):  # CO_VARARGS and CO_VARKEYWORDS
        if code.co_flags & flag:
            read.append(parameter(rest.pop(0), place))
    return read


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not MISSING
    except ValueError:
        return False


def _read_by_inspect(function: Any) -> list[Parameter]:
    import inspect

    signature = inspect.signature(function)
    innermost = inspect.unwrap(function)
    while hasattr(innermost, "func"):
        innermost = inspect.unwrap(innermost.func)
    if not hasattr(innermost, "__globals__"):
        innermost = type(innermost).__call__
    namespace = getattr(innermost, "__globals__", {})
    return [
        Parameter(
            entry.name,
            _PLACES[entry.kind.name],
            MISSING if entry.default is inspect.Parameter.empty else entry.default,
            MISSING if entry.annotation is inspect.Parameter.empty else entry.annotation,
            namespace,
        )
        for entry in signature.parameters.values()
    ]
