"""Identifiers that sort by time."""

import secrets
import time
from uuid import UUID

__all__ = ["new_invocation_id", "new_uuid7", "uuid7_milliseconds"]

_RANDOM_BITS = 74


def new_uuid7() -> str:
    """Return a new UUID version 7 (RFC 9562 section 5.7) in its usual 36-character form."""
    milliseconds = time.time_ns() // 1_000_000
    randomness = secrets.randbits(_RANDOM_BITS)
    random_a, random_b = randomness >> 62, randomness & ((1 << 62) - 1)
    value = (milliseconds & ((1 << 48) - 1)) << 80 | 0x7 << 76 | random_a << 64 | 0b10 << 62 | random_b
    digits = f"{value:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def new_invocation_id() -> str:
    """Return an id for one call; it is also the broker's deduplication key."""
    return new_uuid7()


def uuid7_milliseconds(identifier: str) -> int | None:
    """Return the Unix time in milliseconds at which a UUID version 7 was made; None for any other text."""
    try:
        value = UUID(identifier)
    except ValueError:
        return None
    return value.int >> 80 if value.version == 7 else None
