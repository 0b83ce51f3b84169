"""The ladder of what a machine can give, from everything down to kernel limits alone."""

import enum
from collections.abc import Mapping
from typing import Final


class Level(enum.IntEnum):
    """How far down a worker is. Every step promises less; an operator sets the lowest that is acceptable.

    Attributes:
        FULL: namespaces, a fresh /proc, no further user namespaces inside, system call filter, limits.
        USER_NAMESPACES_LEFT: as `FULL`, but that no user namespace can be made inside rests on the filter alone.
        NO_PROC: as before, with an empty /proc: `/dev/fd` and `/proc/self` don't exist.
        FILTER_ONLY: mode `prlimit-only` with the system call filter: the host's files and processes are in sight.
        LIMITS_ONLY: mode `prlimit-only` without the filter.
        NOTHING: mode `direct`.
    """

    FULL = 0
    USER_NAMESPACES_LEFT = 1
    NO_PROC = 2
    FILTER_ONLY = 3
    LIMITS_ONLY = 4
    NOTHING = 5

    @property
    def meaning(self) -> str:
        """What a worker of this level enforces, in one line."""
        return _MEANINGS[self]


_MEANINGS: Final[Mapping[Level, str]] = {
    Level.FULL: "namespaces, a fresh /proc, a system call filter and limits",
    Level.USER_NAMESPACES_LEFT: "the same, but only the filter keeps a tool from making user namespaces",
    Level.NO_PROC: "the same, with an empty /proc",
    Level.FILTER_ONLY: "a system call filter and limits; the host's files and processes are in sight",
    Level.LIMITS_ONLY: "limits; the host's files and processes are in sight",
    Level.NOTHING: "nothing",
}
