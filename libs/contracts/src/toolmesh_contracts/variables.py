"""Puts environment variables into the values of a parsed document: `${NAME}`, `${NAME, default}`, `${NAME:-default}`.

Substitution works on parsed values, never on the file's text or on keys, so no variable can add structure. `$${` is a
literal `${`. A default may hold references itself. `,` takes the default when the variable is unset, `:-` also when it
is empty (as in a shell).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from toolmesh_contracts.config_problems import ConfigPath, Problem
from toolmesh_contracts.document import Document, ListNode, MappingNode, Node, ScalarNode
from toolmesh_contracts.yaml_scalars import resolve_variable

__all__ = [
    "MAX_EXPANDED_CHARACTERS",
    "Expansion",
    "MalformedReferenceError",
    "Substitution",
    "expand",
    "replaced",
    "substitute",
]

MAX_EXPANDED_CHARACTERS: Final = 16 * 1024 * 1024
"""Most characters that the expanded values of one document may have together."""

_MAX_NESTING: Final = 8
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OPERATORS: Final = (":-", ",")
_FORMS: Final = "${NAME}, ${NAME, default}, ${NAME:-default}; write $${ for a literal ${"


@dataclass(frozen=True, slots=True)
class Expansion:
    """A document's values with its variables filled in.

    Attributes:
        value: Dicts, lists and scalars; what came from a variable is text.
        referenced: Paths of the values that hold a reference, set or not: treat them as secret.
        typed: Values that are one unquoted reference and read as a boolean or number (`${PORT}` is 8080, not "8080").
        problems: Unset variables and malformed references, every one of them.
    """

    value: Any
    referenced: frozenset[ConfigPath]
    typed: Mapping[ConfigPath, bool | int | float]
    problems: tuple[Problem, ...]

    @property
    def typed_value(self) -> Any:
        """The values, with those that read as a boolean or number in that type."""
        value = self.value
        for path, typed in self.typed.items():
            value = replaced(value, path, typed)
        return value


def replaced(value: Any, path: ConfigPath, new: Any) -> Any:
    """Return a copy of `value` with `new` at `path`; what lies beside the path is shared."""
    if not path:
        return new
    first, rest = path[0], path[1:]
    if isinstance(value, list):
        return [replaced(item, rest, new) if index == first else item for index, item in enumerate(value)]
    return {key: replaced(item, rest, new) if key == first else item for key, item in value.items()}


class MalformedReferenceError(ValueError):
    """Raised for a `${` that starts none of the allowed forms."""


def expand(document: Document, environment: Mapping[str, str]) -> Expansion:
    """Fill a document's variables in. Problems are returned, not raised, so that a caller can spare what is sound."""
    expander = _Expander(document, environment)
    value = expander.value(document.root, ())
    return Expansion(value, frozenset(expander.referenced), expander.typed, tuple(expander.problems))


@dataclass(slots=True)
class Substitution:
    """One text with its references filled in."""

    text: str = ""
    references: int = 0
    is_one_reference: bool = False
    missing: list[str] = field(default_factory=list)


def substitute(text: str, environment: Mapping[str, str]) -> Substitution:
    """Fill the references of one text in.

    Raises:
        MalformedReferenceError: a `${` starts none of the allowed forms.
    """
    parser = _Parser(text, environment)
    parser.result.text = parser.until_end()
    return parser.result


class _Parser:
    """Reads one text from left to right; nested defaults are read only as deep as _MAX_NESTING."""

    def __init__(self, text: str, environment: Mapping[str, str]) -> None:
        self.result = Substitution()
        self._text = text
        self._environment = environment
        self._at = 0

    def until_end(self) -> str:
        """Return the whole text, filled in."""
        parts: list[str] = []
        while self._at < len(self._text):
            start = self._text.find("$", self._at)
            if start < 0:
                start = len(self._text)
            parts.append(self._text[self._at : start])
            self._at = start
            parts.append(self._dollar(nesting=0, used=True))
        return "".join(parts)

    def _dollar(self, *, nesting: int, used: bool) -> str:
        if self._text.startswith("$${", self._at):
            self._at += 3
            return "${"
        if self._text.startswith("${", self._at):
            return self._reference(nesting, used)
        literal = self._text[self._at : self._at + 1]
        self._at += 1
        return literal

    def _reference(self, nesting: int, used: bool) -> str:
        start = self._at
        if nesting >= _MAX_NESTING:
            raise MalformedReferenceError(f"references nest deeper than {_MAX_NESTING}")
        name = _NAME.match(self._text, self._at + 2)
        if name is None:
            raise MalformedReferenceError(f"no variable name follows the ${{ at character {start + 1}")
        self._at = name.end()
        self.result.references += 1
        operator = next((sign for sign in _OPERATORS if self._text.startswith(sign, self._at)), "")
        value = self._environment.get(name[0])
        take_default = value is None or (operator == ":-" and not value)
        default = ""
        if operator:
            self._at += len(operator)
            default = self._default(nesting + 1, used=used and take_default)
            default = default.strip() if operator == "," else default
        if not self._text.startswith("}", self._at):
            raise MalformedReferenceError(f"the ${{{name[0]} at character {start + 1} is not closed as it should be")
        self._at += 1
        if start == 0 and self._at == len(self._text):
            self.result.is_one_reference = True
        if not take_default and value is not None:
            return value
        if not operator and used:
            self.result.missing.append(name[0])
        return default

    def _default(self, nesting: int, *, used: bool) -> str:
        parts: list[str] = []
        while self._at < len(self._text) and self._text[self._at] != "}":
            parts.append(self._dollar(nesting=nesting, used=used))
        return "".join(parts)


class _Expander:
    """Walks a document and collects what the walk finds."""

    def __init__(self, document: Document, environment: Mapping[str, str]) -> None:
        self.referenced: set[ConfigPath] = set()
        self.typed: dict[ConfigPath, bool | int | float] = {}
        self.problems: list[Problem] = []
        self._document = document
        self._environment = environment
        self._characters = 0

    def value(self, node: Node, path: ConfigPath) -> Any:
        """Return a node's value, filled in."""
        if isinstance(node, ListNode):
            return [self.value(item, (*path, index)) for index, item in enumerate(node.items)]
        if isinstance(node, MappingNode):
            return {key: self.value(entry.node, (*path, key)) for key, entry in node.entries.items()}
        if isinstance(node.value, str) and "${" in node.value:
            return self._text(node, node.value, path)
        return node.value

    def _text(self, node: ScalarNode, text: str, path: ConfigPath) -> str:
        try:
            filled = substitute(text, self._environment)
        except MalformedReferenceError as error:
            self.problems.append(self._document.problem(path, str(error), allowed=_FORMS))
            return text
        if filled.references:
            self.referenced.add(path)
        for name in dict.fromkeys(filled.missing):
            message = f"the environment variable {name} is not set; set it or write ${{{name}, default}}"
            self.problems.append(self._document.problem(path, message))
        self._characters += len(filled.text)
        if self._characters > MAX_EXPANDED_CHARACTERS:
            self.problems.append(
                self._document.problem(path, f"variables make this larger than {MAX_EXPANDED_CHARACTERS} characters")
            )
            return ""
        if node.plain and filled.is_one_reference:
            typed = resolve_variable(filled.text)
            if not isinstance(typed, str):
                self.typed[path] = typed
        return filled.text
