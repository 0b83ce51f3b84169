"""Unpadded base64url (RFC 4648 section 5) with exactly one accepted spelling per value."""

import base64
import binascii


def encode(data: bytes) -> str:
    """Encode without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def decode(text: str) -> bytes:
    """Decode, and refuse padding, foreign characters and spare bits.

    Raises:
        ValueError: When `text` is not what `encode` would have written.
    """
    try:
        data = base64.b64decode(text.encode("ascii") + b"=" * (-len(text) % 4), b"-_", validate=True)
    except (UnicodeEncodeError, binascii.Error) as error:
        raise ValueError("not base64url") from error
    # Spare bits in the last character would give one value several spellings.
    if encode(data) != text:
        raise ValueError("not canonical base64url")
    return data
