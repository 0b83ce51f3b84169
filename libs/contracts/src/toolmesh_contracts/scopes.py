"""Scopes: what a caller may do, and what a tool asks for.

A scope is `<category>:<resource>:<verb>`, case-sensitive. In a grant, `*` stands for any characters inside one segment;
`*` alone and `*:*:*` grant everything. The resource `_` (no particular instance) and the resource `*` cover each other.
A declared tool's scope, such as `tools:read`, is one opaque text: a grant covers it when it is the same text, or a glob
of it. Everything else is denied.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

__all__ = ["EVERYTHING", "MAX_SCOPE_CHARACTERS", "Scope", "ScopeSet", "ScopeSyntaxError", "glob_matches", "parse"]

MAX_SCOPE_CHARACTERS: Final = 256
"""Longest scope or grant."""

EVERYTHING: Final = frozenset({"*", "*:*:*"})
"""The grants that cover every scope."""

_SEGMENTS: Final = 3
_CHARACTERS = re.compile(r"[^\s\x00-\x1f\x7f]+")
_NO_LITERAL = re.compile(r"[*:]*")


class ScopeSyntaxError(ValueError):
    """Raised for a text that is no `<category>:<resource>:<verb>`."""


@dataclass(frozen=True, slots=True)
class Scope:
    """One scope in its three segments."""

    category: str
    resource: str
    verb: str

    def __str__(self) -> str:
        return f"{self.category}:{self.resource}:{self.verb}"

    def covers(self, required: "Scope") -> bool:
        """Tell whether this scope, held as a grant, covers a required one."""
        return (
            glob_matches(self.category, required.category)
            and (glob_matches(self.resource, required.resource) or (self.resource == "_" and required.resource == "*"))
            and glob_matches(self.verb, required.verb)
        )


def parse(text: str) -> Scope:
    """Return a scope's segments. The bare grant `*` is no scope of this form; `ScopeSet` knows it.

    Raises:
        ScopeSyntaxError: not exactly three non-empty segments, white space or control characters, or too long.
    """
    if not _is_legible(text):
        raise ScopeSyntaxError(
            f"{text[:60]!r} is no scope: 1 to {MAX_SCOPE_CHARACTERS} characters without white space are needed"
        )
    segments = text.split(":")
    if len(segments) != _SEGMENTS or not all(segments):
        raise ScopeSyntaxError(f"{text!r} is no scope: write <category>:<resource>:<verb>, as in tool:email:send")
    return Scope(*segments)


def glob_matches(pattern: str, text: str) -> bool:
    """Tell whether `pattern`, in which `*` stands for any characters, matches the whole `text`."""
    first, *rest = pattern.split("*")
    if not rest:
        return pattern == text
    last = rest.pop()
    if len(text) < len(first) + len(last) or not text.startswith(first) or not text.endswith(last):
        return False
    at, end = len(first), len(text) - len(last)
    for part in rest:
        found = text.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True


class ScopeSet:
    """The scopes that a caller holds.

    Args:
        granted: Grants as they stand in a token or role.

    Attributes:
        ignored: Malformed grants, which grant nothing.
    """

    __slots__ = ("_everything", "_exact", "_opaque_globs", "_wide", "ignored")

    def __init__(self, granted: Iterable[object]) -> None:
        granted = tuple(granted)
        legible = [grant for grant in granted if isinstance(grant, str) and _is_legible(grant)]
        useful = [grant for grant in legible if grant in EVERYTHING or not _NO_LITERAL.fullmatch(grant)]
        self.ignored = tuple(str(grant)[:MAX_SCOPE_CHARACTERS] for grant in granted if grant not in useful)
        self._everything = not EVERYTHING.isdisjoint(useful)
        self._exact = frozenset(useful)
        self._wide = tuple(scope for grant in useful if (scope := _three_parts(grant)) is not None)
        self._opaque_globs = tuple(grant for grant in useful if "*" in grant)

    def covers(self, required: str) -> bool:
        """Tell whether the caller may use what asks for `required`.

        A required text without three segments is a declared tool's opaque scope. Illegible ones are never covered.
        """
        if not _is_legible(required):
            return False
        scope = _three_parts(required)
        if scope is None:
            return self.covers_opaque(required)
        return self._everything or required in self._exact or any(grant.covers(scope) for grant in self._wide)

    def covers_opaque(self, required: str) -> bool:
        """Tell whether a grant is a declared tool's scope, or a glob of it; `required` is never taken apart."""
        if not _is_legible(required):
            return False
        if self._everything or required in self._exact:
            return True
        return any(glob_matches(pattern, required) for pattern in self._opaque_globs)

    def missing(self, required: Iterable[str]) -> tuple[str, ...]:
        """Return what the caller lacks of `required`; all of it is needed, so an empty answer means allowed."""
        return tuple(scope for scope in required if not self.covers(scope))


def _is_legible(text: str) -> bool:
    return len(text) <= MAX_SCOPE_CHARACTERS and _CHARACTERS.fullmatch(text) is not None


def _three_parts(text: str) -> Scope | None:
    segments = text.split(":")
    return Scope(*segments) if len(segments) == _SEGMENTS and all(segments) else None
