"""Keys as JSON: JWK and JWKS (RFC 7517) for the curves of RFC 8037, read strictly."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from joserfc.jwk import thumbprint

from toolmesh_identity import base64url, strict_json
from toolmesh_identity.errors import KeyFileError

Curve = Literal["Ed25519", "X25519"]
KEY_BYTES: Final = 32
MAX_KEYS: Final = 256
_USE: Final[Mapping[Curve, str]] = {"Ed25519": "sig", "X25519": "enc"}
_KID: Final = re.compile(r"[A-Za-z0-9_-]{1,128}")


@dataclass(frozen=True)
class RawKey:
    """One key of a JWKS before it gets its purpose.

    Attributes:
        kid: Key id, letters, digits, `_` and `-`.
        public: 32 bytes.
        private: 32 bytes, or None for a public key.
    """

    kid: str
    public: bytes
    private: bytes | None = field(default=None, repr=False)


def is_kid(text: str) -> bool:
    """Tell whether `text` can be a key id here: it goes into headers and file names."""
    return _KID.fullmatch(text) is not None


def kid_of(curve: Curve, public: bytes) -> str:
    """Return the RFC 7638 SHA-256 thumbprint of a public key."""
    return thumbprint({"crv": curve, "kty": "OKP", "x": base64url.encode(public)})


def to_jwk(curve: Curve, key: RawKey) -> dict[str, str]:
    """Return the JWK of a key; it holds the private part when `key` does."""
    jwk = {"kty": "OKP", "crv": curve, "use": _USE[curve], "kid": key.kid, "x": base64url.encode(key.public)}
    if key.private is not None:
        jwk["d"] = base64url.encode(key.private)
    return jwk


def format_jwks(curve: Curve, keys: Iterable[RawKey]) -> bytes:
    """Write a JWKS document, oldest key first."""
    return json.dumps({"keys": [to_jwk(curve, key) for key in keys]}, indent=2).encode() + b"\n"


def parse_jwks(data: bytes | Mapping[str, Any], curve: Curve, *, private: bool, source: str) -> tuple[RawKey, ...]:
    """Read every key of a JWKS document, or of a single JWK.

    Args:
        data: The document, as bytes or parsed.
        curve: The only curve accepted.
        private: Whether the keys must hold, or must not hold, their private part.
        source: Where the document came from, for messages.

    Raises:
        KeyFileError: When any key is not exactly that. One bad key refuses the document: a half-read set of
            keys would show only at the first call signed with the missing one.
    """
    if isinstance(data, bytes):
        try:
            data = strict_json.parse_object(data)
        except ValueError as error:
            raise KeyFileError(f"{source}: not a JSON key document: {error}", reason="malformed") from error
    entries = data.get("keys", [data])
    if not isinstance(entries, list) or not 1 <= len(entries) <= MAX_KEYS:
        raise KeyFileError(f"{source}: `keys` must be a list of 1 to {MAX_KEYS} keys", reason="malformed")
    keys = tuple(_parse_key(entry, curve, private, f"{source}: key {n}") for n, entry in enumerate(entries, 1))
    kids = [key.kid for key in keys]
    for kid in kids:
        if kids.count(kid) > 1:
            raise KeyFileError(f"{source}: kid {kid} occurs twice; remove one of the keys", reason="duplicate_kid")
    return keys


def _parse_key(entry: object, curve: Curve, private: bool, source: str) -> RawKey:
    if not isinstance(entry, Mapping):
        raise KeyFileError(f"{source} is not a JSON object", reason="malformed")
    if entry.get("kty") != "OKP" or entry.get("crv") != curve:
        # The found values are not shown: in a file of another kind they could be anything.
        raise KeyFileError(f"{source} must have kty OKP and crv {curve}", reason="wrong_curve")
    if entry.get("use", _USE[curve]) != _USE[curve]:
        raise KeyFileError(f"{source} must have use {_USE[curve]}, or none", reason="wrong_use")
    public = _member(entry, "x", source)
    kid = entry.get("kid", kid_of(curve, public))
    if not isinstance(kid, str) or not is_kid(kid):
        raise KeyFileError(f"{source}: kid must be 1 to 128 letters, digits, `_` or `-`", reason="bad_kid")
    if not private:
        if "d" in entry:
            raise KeyFileError(
                f"{source} holds a private key where only public keys belong; give the public file",
                reason="private_key_exposed",
            )
        return RawKey(kid, public)
    return RawKey(kid, public, _member(entry, "d", source))


def _member(entry: Mapping[str, Any], name: str, source: str) -> bytes:
    value = entry.get(name)
    try:
        data = base64url.decode(value) if isinstance(value, str) else b""
    except ValueError:
        data = b""
    if len(data) != KEY_BYTES:
        raise KeyFileError(f"{source}: `{name}` must be {KEY_BYTES} bytes in base64url", reason="malformed")
    return data
