"""NATS subject patterns: `*` is one token, a final `>` one or more."""

__all__ = ["matches"]


def matches(pattern: str, subject: str) -> bool:
    """Tell whether a subject or key matches a pattern."""
    wanted, given = pattern.split("."), subject.split(".")
    for place, part in enumerate(wanted):
        if part == ">":
            return len(given) > place
        if place >= len(given) or part not in ("*", given[place]):
            return False
    return len(wanted) == len(given)
