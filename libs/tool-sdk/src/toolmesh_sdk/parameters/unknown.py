"""Annotations that say nothing of what a model could send: they may be misspelt, so tools with them are refused."""

from __future__ import annotations

from .scalars import Opaque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .base import SchemaBook


class Unknown(Opaque):
    """An annotation that can't be read; text, where it is let pass.

    Args:
        annotation: As written.
        namespace: Where the names in a text were looked up.
    """

    __slots__ = ("_annotation", "_namespace")

    def __init__(self, annotation: Any, namespace: dict[str, Any]) -> None:
        self._annotation = annotation
        self._namespace = namespace

    def schema(self, book: SchemaBook) -> dict[str, Any]:
        """Return the schema of a text, and note this annotation in the book."""
        book.unknown.append(self)
        return super().schema(book)

    def reason(self) -> str:
        """Say what is wrong with it, and what to write instead."""
        if not isinstance(self._annotation, str):
            name = getattr(self._annotation, "__qualname__", "") if isinstance(self._annotation, type) else ""
            shown = name or repr(self._annotation)[:80]
            return f"unknown type {shown}, which no model can send; use str, int, list, a dataclass or alike"
        shown = f"unknown type {self._annotation[:80]!r}"
        missing = _missing_names(self._annotation, self._namespace)
        if not missing:
            return f"{shown}, which can't be read"
        near = _suggestion(missing[0], self._namespace)
        cure = f"did you mean {near}?" if near else "define or import it where it is there at run time"
        return f"{shown}: there is no {' and no '.join(missing)}; {cure}"


def _missing_names(text: str, namespace: dict[str, Any]) -> list[str]:
    import ast

    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError):
        return []
    known = _known_names(namespace)
    names = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name)]
    return [name for name in dict.fromkeys(names) if name not in known]


def _suggestion(name: str, namespace: dict[str, Any]) -> str:
    from difflib import get_close_matches

    own = [known for known, value in namespace.items() if isinstance(value, type)]
    near = get_close_matches(name, [*own, *_COMMON], n=1, cutoff=0.6)
    return near[0] if near else ""


def _known_names(namespace: dict[str, Any]) -> set[str]:
    import builtins
    import typing

    return {*namespace, *vars(builtins), *vars(typing), "Artifact"}


_COMMON = (
    "str",
    "int",
    "float",
    "bool",
    "bytes",
    "list",
    "dict",
    "set",
    "tuple",
    "Any",
    "Literal",
    "Optional",
    "Artifact",
)
