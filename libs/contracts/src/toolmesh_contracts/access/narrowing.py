"""Narrows the scopes of a token by hints that nobody signed: they may take away, never add."""

from collections.abc import Iterable
from dataclasses import dataclass

from toolmesh_contracts.access.grants import check_grant
from toolmesh_contracts.scopes import EVERYTHING, Scope, ScopeSyntaxError, glob_matches, parse

__all__ = ["Narrowed", "narrow"]


@dataclass(frozen=True, slots=True)
class Narrowed:
    """What is left.

    Attributes:
        scopes: The hints that the held scopes contain.
        dropped: The others; whoever narrows logs them.
    """

    scopes: tuple[str, ...]
    dropped: tuple[str, ...]


def narrow(held: Iterable[str], hints: Iterable[str]) -> Narrowed:
    """Keep of `hints` what a single one of the `held` scopes contains, wildcards included.

    A hint that is wider than every held scope, or no scope at all, is dropped whole: it is not cut to what is held.
    """
    held, hints = tuple(held), tuple(dict.fromkeys(hints))
    kept = tuple(hint for hint in hints if any(_contains(grant, hint) for grant in held))
    return Narrowed(kept, tuple(hint for hint in hints if hint not in kept))


def _contains(grant: str, hint: str) -> bool:
    """Tell whether a grant covers whatever `hint`, as a grant, would cover."""
    if not (_is_grant(grant) and _is_grant(hint)):
        return False
    if grant in EVERYTHING:
        return True
    if hint in EVERYTHING:
        return False
    wide, narrow_one = _parts(grant), _parts(hint)
    if narrow_one is None:
        return glob_matches(grant, hint)
    return (
        wide is not None
        and glob_matches(wide.category, narrow_one.category)
        and _contains_resource(wide.resource, narrow_one.resource)
        and glob_matches(wide.verb, narrow_one.verb)
    )


def _contains_resource(wide: str, narrow_one: str) -> bool:
    """Compare as grants: `*` covers every instance, which `_` does not; `_` covers a required `*` too."""
    if narrow_one == "_":
        return wide == "_" or glob_matches(wide, "*")
    return glob_matches(wide, narrow_one)


def _is_grant(text: str) -> bool:
    try:
        check_grant(text)
    except ScopeSyntaxError:
        return False
    return True


def _parts(text: str) -> Scope | None:
    try:
        return parse(text)
    except ScopeSyntaxError:
        return None
