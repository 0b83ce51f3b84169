"""Which spellings of a user's id mean the same user."""

import re
from typing import Final

__all__ = ["SYSTEM_PREFIX", "claims_to_be_system", "same_user"]

SYSTEM_PREFIX: Final = "system:"
"""Ids of toolmesh's own users begin with it; nobody who signs in has such a one."""

# ASCII alone: letters of other scripts fold in more than one way, and two people must never become one.
_EMAIL: Final = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{}~-]+@[A-Za-z0-9.-]+")


def same_user(subject: str) -> str:
    """Return the one spelling of a user's id: e-mail addresses in lower case, every other subject as it is."""
    return subject.lower() if _EMAIL.fullmatch(subject) else subject


def claims_to_be_system(subject: str) -> bool:
    """Tell whether an id looks like one of toolmesh's own users, in any case or with white space before it."""
    return subject.strip().casefold().startswith(SYSTEM_PREFIX)
