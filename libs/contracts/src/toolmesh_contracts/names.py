"""Grammars of names, and the one mapping from any name to a subject-safe and key-safe token."""

import hashlib
import re
from enum import StrEnum
from typing import Final

from toolmesh_contracts.errors import InvalidNameError

__all__ = [
    "BROKER_SCHEMES",
    "NO_AGENT",
    "SHARD_COUNT",
    "Lane",
    "join_names",
    "shard_of",
    "tenant_token",
    "token",
    "validate_identifier",
    "validate_namespace",
    "validate_pool",
    "validate_tool_name",
]

NO_AGENT: Final = "-"
"""Stands for the agent in the tenant of a call that no agent makes."""
BROKER_SCHEMES: Final = ("nats", "tls")
"""What a broker's URL may begin with."""

SHARD_COUNT: Final = 8
"""Shards of a pool's queue; also kept in the stream's metadata, where a mismatch refuses to start."""

MAX_TOKEN_LENGTH: Final = 96
"""Longest token in characters; longer names end in a digest instead."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_TOOL_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,127}")
_IDENTIFIER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,95}")
_SAFE_BYTES = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
_DIGEST_CHARACTERS = 32
_SHOWN_CHARACTERS = 120


class Lane(StrEnum):
    """Urgency of a call; each lane has consumers of its own."""

    INTERACTIVE = "interactive"
    NORMAL = "normal"
    BULK = "bulk"


def _validate(kind: str, name: str, pattern: re.Pattern[str], allowed: str) -> str:
    if not pattern.fullmatch(name):
        shown = repr(name) if len(name) <= _SHOWN_CHARACTERS else f"{name[:_SHOWN_CHARACTERS]!r}..."
        raise InvalidNameError(f"{kind} {shown} is not allowed", hint=f"use {allowed}")
    return name


def validate_namespace(name: str) -> str:
    """Return `name`, or raise InvalidNameError if it can't be a namespace."""
    return _validate("namespace", name, _NAME, "1 to 64 letters, digits, '_' or '-', starting with a letter or digit")


def validate_pool(name: str) -> str:
    """Return `name`, or raise InvalidNameError if it can't be a pool."""
    return _validate("pool", name, _NAME, "1 to 64 letters, digits, '_' or '-', starting with a letter or digit")


def validate_tool_name(name: str) -> str:
    """Return `name`, or raise InvalidNameError if no model provider would take it as a tool name."""
    return _validate("tool name", name, _TOOL_NAME, "1 to 128 letters, digits, '_' or '-', starting with a letter")


def validate_identifier(kind: str, name: str) -> str:
    """Return the worker's, executor's or call's id `name`, or raise InvalidNameError that names `kind`."""
    return _validate(kind, name, _IDENTIFIER, "1 to 96 letters, digits, '_' or '-', starting with a letter or digit")


def token(name: str) -> str:
    """Map any non-empty name to one token that is safe in a NATS subject and in a KV key.

    Letters, digits, `_` and `-` stay; every other byte of the UTF-8 form becomes `=XX`. A token over MAX_TOKEN_LENGTH
    is cut and ends in a digest, so two names never share a token but by a SHA-256 collision.

    Raises:
        InvalidNameError: `name` is empty or has a lone surrogate.
    """
    if not name:
        raise InvalidNameError("a name is empty", hint="give at least one character")
    try:
        raw = name.encode()
    except UnicodeEncodeError as error:
        raise InvalidNameError(f"{name!r} is not valid Unicode", hint="remove the lone surrogate") from error
    safe = "".join(chr(byte) if byte in _SAFE_BYTES else f"={byte:02X}" for byte in raw)
    if len(safe) <= MAX_TOKEN_LENGTH:
        return safe
    digest = hashlib.sha256(raw).hexdigest()[:_DIGEST_CHARACTERS]
    # "=_" never occurs in an escaped name, so a cut token can't equal a whole one.
    return f"{safe[: MAX_TOKEN_LENGTH - _DIGEST_CHARACTERS - 2]}=_{digest}"


def tenant_token(agent: str, user: str) -> str:
    """Return the token of a tenant: one agent on behalf of one user."""
    joined = f"{token(agent)}=={token(user)}"
    if len(joined) <= MAX_TOKEN_LENGTH:
        return joined
    digest = hashlib.sha256(f"{agent}\0{user}".encode()).hexdigest()[:_DIGEST_CHARACTERS]
    return f"{token(agent)[:32]}=-{digest}"


def shard_of(tenant: str) -> int:
    """Return the shard (0 to SHARD_COUNT - 1) in which a tenant's calls wait."""
    return int.from_bytes(hashlib.sha256(tenant.encode()).digest()[:4]) % SHARD_COUNT


def join_names(*names: str) -> str:
    """Join names into one stream or bucket name (letters, digits, `_`, `-`).

    `_` inside a name is written `_u` and names are joined by `__`, so different lists never give the same name.
    """
    return "__".join(name.replace("_", "_u") for name in names)
