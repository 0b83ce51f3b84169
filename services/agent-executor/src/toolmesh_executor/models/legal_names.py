"""Names of tools that every provider takes: `[a-zA-Z0-9_-]`, at most 64 characters."""

import hashlib
import re
from collections.abc import Iterable
from typing import Final

__all__ = ["legal_name", "legal_names"]

_LONGEST: Final = 64
_DIGEST: Final = 8
_ILLEGAL: Final = re.compile(r"[^a-zA-Z0-9_-]")


def legal_name(name: str) -> str:
    """Return a name with its illegal characters replaced, and cut."""
    return _ILLEGAL.sub("_", name)[:_LONGEST] or "_"


def legal_names(names: Iterable[str]) -> dict[str, str]:
    """Return each name's legal spelling. No two are the same, and they don't depend on the order.

    Args:
        names: Unique names.
    """
    names = list(names)
    taken = {name for name in names if legal_name(name) == name}
    legal: dict[str, str] = {}
    for name in sorted(names):
        spelling = legal_name(name)
        if name != spelling and (spelling in taken or len(name) > _LONGEST):
            digest = hashlib.sha256(name.encode()).hexdigest()[:_DIGEST]
            spelling = f"{spelling[: _LONGEST - _DIGEST - 1]}_{digest}"
        taken.add(spelling)
        legal[name] = spelling
    return legal
