"""Sealing of secrets to a pool: HPKE (RFC 9180) base mode, X25519, HKDF-SHA256, ChaCha20-Poly1305.

Format, version 1, 3 parts joined by dots: `box1`, kid, ciphertext. Anyone with the public key can seal, so a box alone
says nothing about its sender: it travels in a message that the executor has signed.
"""

from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hpke

from toolmesh_identity import base64url
from toolmesh_identity.errors import SealError
from toolmesh_identity.jwk import is_kid
from toolmesh_identity.keys import SealingKeys, SealingPublicKey

MAX_PLAINTEXT_BYTES: Final = 512 * 1024
MAX_BOX_CHARS: Final = MAX_PLAINTEXT_BYTES * 4 // 3 + 512
_VERSION: Final = "box1"
_DOMAIN: Final = b"toolmesh sealed box v1\x00"
_SUITE: Final = hpke.Suite(hpke.KEM.X25519, hpke.KDF.HKDF_SHA256, hpke.AEAD.CHACHA20_POLY1305)


def seal(plaintext: bytes, to: SealingPublicKey, context: bytes) -> str:
    """Seal bytes so that only the pool can read them, and only where `context` is the same.

    Args:
        plaintext: At most 512 KiB.
        to: The pool's newest public key.
        context: What the box belongs to, such as pool and invocation id; not secret, not in the box.

    Raises:
        SealError: When the plaintext is too large or the key is unusable.
    """
    if len(plaintext) > MAX_PLAINTEXT_BYTES:
        raise SealError(f"can't seal {len(plaintext)} bytes, at most {MAX_PLAINTEXT_BYTES}", reason="oversized")
    try:
        ciphertext = _SUITE.encrypt(plaintext, to.public_key, info=_info(to.kid, context))
    except ValueError as error:
        # A point of small order: everyone could open the box.
        raise SealError(f"sealing key {to.kid} is no usable public key", reason="bad_key") from error
    return f"{_VERSION}.{to.kid}.{base64url.encode(ciphertext)}"


def open_sealed(box: str, keys: SealingKeys, context: bytes) -> bytes:
    """Open a box with whichever of `keys` it was sealed to.

    Raises:
        SealError: When it isn't a box, none of the keys fits, it was changed, or it belongs to another context.
    """
    parts = box.split(".") if len(box) <= MAX_BOX_CHARS else []
    if len(parts) != 3 or parts[0] != _VERSION or not is_kid(parts[1]):
        raise SealError(f"sealed box is not of the form {_VERSION}.kid.…", reason="malformed")
    try:
        ciphertext = base64url.decode(parts[2])
    except ValueError as error:
        raise SealError(f"sealed box can't be read: {error}", reason="malformed") from error
    kid = parts[1]
    key = keys.get(kid)
    if key is None:
        raise SealError(f"sealed box is for key {kid}, which this pool lacks; was it retired?", reason="unknown_kid")
    try:
        return _SUITE.decrypt(ciphertext, key.private_key, info=_info(kid, context))
    except (InvalidTag, ValueError) as error:
        raise SealError("sealed box was changed, or belongs to another call", reason="bad_box") from error


def _info(kid: str, context: bytes) -> bytes:
    return _DOMAIN + kid.encode("ascii") + b"\x00" + context
