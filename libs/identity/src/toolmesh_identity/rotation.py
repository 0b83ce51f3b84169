"""Private key files over time: create, add a newer key, retire an old one.

A file holds a JWKS, oldest key first. The newest key signs (or is sealed to), every key verifies (or opens).
Without a gap, a signing key rotates so: `rotate`; give the new `public_jwks` to all who verify and restart them;
restart who signs; when nothing signed with the old key can still be valid (tokens: 24 hours), `retire` its kid.
A sealing key: `rotate`; restart the pool's workers; give the new `public_jwks` to all who seal; `retire` when the
calls from before are done.
"""

from pathlib import Path

from toolmesh_identity import key_files
from toolmesh_identity.errors import KeyFileError
from toolmesh_identity.jwk import MAX_KEYS, Curve, RawKey, format_jwks, parse_jwks
from toolmesh_identity.keys import SealingKey, SigningKey


def create_or_load(path: Path, curve: Curve) -> tuple[RawKey, ...]:
    """Read a private key file; create it with one new key when it is missing, safe against a second process doing so.

    Raises:
        KeyFileError: When it can be neither read nor created.
    """
    data = key_files.create_or_read(path, lambda: format_jwks(curve, [_new_key(curve)]))
    return parse_jwks(data, curve, private=True, source=str(path))


def rotate(path: Path, curve: Curve = "Ed25519") -> str:
    """Add a new key to a private key file and return its kid. The older keys stay.

    Raises:
        KeyFileError: When the file can't be read or written, or is full.
    """
    with key_files.locked(path.parent):
        keys = parse_jwks(key_files.read_private(path), curve, private=True, source=str(path))
        if len(keys) == MAX_KEYS:
            raise KeyFileError(f"{path}: holds {MAX_KEYS} keys already; retire old ones", reason="full")
        new = _new_key(curve)
        key_files.replace_private(path, format_jwks(curve, [*keys, new]))
    return new.kid


def retire(path: Path, kid: str, curve: Curve = "Ed25519") -> None:
    """Remove a key from a private key file.

    Raises:
        KeyFileError: When the file can't be read or written, has no such key, or would be left without one.
    """
    with key_files.locked(path.parent):
        keys = parse_jwks(key_files.read_private(path), curve, private=True, source=str(path))
        left = [key for key in keys if key.kid != kid]
        if len(left) == len(keys):
            known = ", ".join(key.kid for key in keys)
            raise KeyFileError(f"{path}: has no key {kid!r}; it has {known}", reason="unknown_kid")
        if not left:
            raise KeyFileError(f"{path}: {kid} is its only key; rotate first", reason="last_key")
        key_files.replace_private(path, format_jwks(curve, left))


def public_jwks(path: Path, curve: Curve = "Ed25519") -> bytes:
    """Return the public JWKS document of a private key file.

    Raises:
        KeyFileError: When the file can't be used.
    """
    keys = parse_jwks(key_files.read_private(path), curve, private=True, source=str(path))
    return format_jwks(curve, (RawKey(key.kid, key.public) for key in keys))


def _new_key(curve: Curve) -> RawKey:
    return SigningKey.generate().raw() if curve == "Ed25519" else SealingKey.generate().raw()
