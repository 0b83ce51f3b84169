"""What one check of the doctor gave."""

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Finding", "State", "ok", "problem", "skipped", "warning"]


class State(StrEnum):
    """How good a finding is."""

    OK = "ok"
    WARNING = "warning"
    """Works, but should be mended."""
    PROBLEM = "problem"
    """Does not work."""
    SKIPPED = "skipped"
    """There is nothing to check."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the doctor's report.

    Attributes:
        check: What was looked at; stable, for programs.
        state: How good it is.
        detail: What was found.
        cure: What to do about it; empty when all is well.
    """

    check: str
    state: State
    detail: str
    cure: str = ""


def ok(check: str, detail: str) -> Finding:
    """Return that all is well."""
    return Finding(check, State.OK, detail)


def skipped(check: str, detail: str) -> Finding:
    """Return that there is nothing to check."""
    return Finding(check, State.SKIPPED, detail)


def warning(check: str, detail: str, cure: str) -> Finding:
    """Return what works for now."""
    return Finding(check, State.WARNING, detail, cure)


def problem(check: str, detail: str, cure: str) -> Finding:
    """Return what does not work."""
    return Finding(check, State.PROBLEM, detail, cure)
