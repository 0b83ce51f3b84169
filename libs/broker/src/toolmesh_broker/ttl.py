"""Time to live as the broker takes it: whole seconds, at least one."""

import math
import time

__all__ = ["seconds_until", "whole_seconds"]


def whole_seconds(ttl_s: float) -> int:
    """Round up to whole seconds, at least 1; the broker refuses fractions and zero."""
    return max(1, math.ceil(ttl_s))


def seconds_until(deadline_ms: int, extra_s: float = 0.0) -> float:
    """Return the seconds from now to a Unix time in milliseconds, plus `extra_s`; negative when it has passed."""
    return deadline_ms / 1000 - time.time() + extra_s
