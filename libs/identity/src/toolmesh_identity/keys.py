"""Keys in memory: who signs (Ed25519), who is believed, who can open a sealed box (X25519)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from toolmesh_identity import key_files
from toolmesh_identity.errors import KeyFileError
from toolmesh_identity.jwk import Curve, RawKey, format_jwks, kid_of, parse_jwks


class SigningKey:
    """An Ed25519 private key (RFC 8032) and its id. Its `repr` shows the id only."""

    __slots__ = ("_private", "kid")

    def __init__(self, kid: str, private: Ed25519PrivateKey) -> None:
        self.kid = kid
        self._private = private

    def __repr__(self) -> str:
        return f"SigningKey(kid={self.kid!r})"

    @classmethod
    def generate(cls) -> Self:
        """Make a new key; its id is the RFC 7638 thumbprint of its public part."""
        private = Ed25519PrivateKey.generate()
        return cls(kid_of("Ed25519", private.public_key().public_bytes_raw()), private)

    @classmethod
    def from_file(cls, path: Path) -> Self:
        """Read the newest key of a private key file.

        Raises:
            KeyFileError: When the file can't be used, or others can read it.
        """
        return cls.from_raw(_read_private(path, "Ed25519")[-1], str(path))

    @classmethod
    def from_raw(cls, key: RawKey, source: str) -> Self:
        """Take over a parsed private key.

        Raises:
            KeyFileError: When it has no private part, or one that doesn't belong to its public part.
        """
        private = Ed25519PrivateKey.from_private_bytes(_private_part(key, source))
        _check_halves(private.public_key().public_bytes_raw(), key, source)
        return cls(key.kid, private)

    def sign(self, data: bytes) -> bytes:
        """Return the 64 byte signature over `data`."""
        return self._private.sign(data)

    def raw(self) -> RawKey:
        """Return the key with its private part, to be written to a private file."""
        return RawKey(self.kid, self._private.public_key().public_bytes_raw(), self._private.private_bytes_raw())

    @property
    def verifying(self) -> "VerifyingKeys":
        """The public part."""
        return VerifyingKeys({self.kid: self._private.public_key()})

    @property
    def private_key(self) -> Ed25519PrivateKey:
        """The key as `cryptography` knows it."""
        return self._private


class VerifyingKeys:
    """Ed25519 public keys by id: everyone whose signature is believed."""

    __slots__ = ("_keys",)

    def __init__(self, keys: Mapping[str, Ed25519PublicKey]) -> None:
        self._keys = dict(keys)

    def __repr__(self) -> str:
        return f"VerifyingKeys(kids={self.kids!r})"

    def __len__(self) -> int:
        return len(self._keys)

    @classmethod
    def from_file(cls, *paths: Path) -> Self:
        """Read one or more public JWKS files.

        Raises:
            KeyFileError: When a file can't be used, others can write it, it holds a private key, or two files give one
                id to different keys.
        """
        keys = cls({})
        for path in paths:
            keys = keys.joined(cls.from_jwks(key_files.read_public(path), source=str(path)))
        return keys

    @classmethod
    def from_jwks(cls, document: bytes | Mapping[str, Any], *, source: str = "JWKS") -> Self:
        """Read a public JWKS document (RFC 7517).

        Raises:
            KeyFileError: When it isn't one with only Ed25519 public keys.
        """
        keys = parse_jwks(document, "Ed25519", private=False, source=source)
        return cls({key.kid: Ed25519PublicKey.from_public_bytes(key.public) for key in keys})

    def joined(self, other: "VerifyingKeys") -> Self:
        """Return the keys of both.

        Raises:
            KeyFileError: When one id names two different keys.
        """
        for kid, key in other._keys.items():
            if self._keys.get(kid, key) != key:
                raise KeyFileError(f"kid {kid} names two different keys; give one a new id", reason="duplicate_kid")
        return type(self)({**self._keys, **other._keys})

    @property
    def kids(self) -> tuple[str, ...]:
        """The ids, oldest first."""
        return tuple(self._keys)

    def public_key(self, kid: str) -> Ed25519PublicKey | None:
        """Return the key as `cryptography` knows it, or None for an unknown id."""
        return self._keys.get(kid)

    def verify(self, kid: str, signature: bytes, data: bytes) -> bool:
        """Tell whether the key `kid` made `signature` over `data`; an unknown id is False."""
        key = self._keys.get(kid)
        if key is None:
            return False
        try:
            key.verify(signature, data)
        except InvalidSignature:
            return False
        return True

    def to_jwks(self) -> bytes:
        """Write the public JWKS document."""
        return format_jwks("Ed25519", (RawKey(kid, key.public_bytes_raw()) for kid, key in self._keys.items()))


class SealingPublicKey:
    """An X25519 public key and its id: what is sealed to it only its pool can open."""

    __slots__ = ("kid", "public_key")

    def __init__(self, kid: str, public_key: X25519PublicKey) -> None:
        self.kid = kid
        self.public_key = public_key

    def __repr__(self) -> str:
        return f"SealingPublicKey(kid={self.kid!r})"

    @classmethod
    def from_file(cls, path: Path) -> Self:
        """Read the newest key of a public JWKS file.

        Raises:
            KeyFileError: When the file can't be used, others can write it, or it holds a private key.
        """
        return cls.from_jwks(key_files.read_public(path), source=str(path))

    @classmethod
    def from_jwks(cls, document: bytes | Mapping[str, Any], *, source: str = "JWKS") -> Self:
        """Read the newest key of a public JWKS document, or a single JWK.

        Raises:
            KeyFileError: When it isn't one with only X25519 public keys.
        """
        key = parse_jwks(document, "X25519", private=False, source=source)[-1]
        return cls(key.kid, X25519PublicKey.from_public_bytes(key.public))

    def to_jwks(self) -> bytes:
        """Write the public JWKS document."""
        return format_jwks("X25519", [RawKey(self.kid, self.public_key.public_bytes_raw())])


class SealingKey:
    """An X25519 private key (RFC 7748) and its id. Its `repr` shows the id only."""

    __slots__ = ("_private", "kid")

    def __init__(self, kid: str, private: X25519PrivateKey) -> None:
        self.kid = kid
        self._private = private

    def __repr__(self) -> str:
        return f"SealingKey(kid={self.kid!r})"

    @classmethod
    def generate(cls) -> Self:
        """Make a new key; its id is the RFC 7638 thumbprint of its public part."""
        private = X25519PrivateKey.generate()
        return cls(kid_of("X25519", private.public_key().public_bytes_raw()), private)

    @classmethod
    def from_raw(cls, key: RawKey, source: str) -> Self:
        """Take over a parsed private key.

        Raises:
            KeyFileError: When it has no private part, or one that doesn't belong to its public part.
        """
        private = X25519PrivateKey.from_private_bytes(_private_part(key, source))
        _check_halves(private.public_key().public_bytes_raw(), key, source)
        return cls(key.kid, private)

    def raw(self) -> RawKey:
        """Return the key with its private part, to be written to a private file."""
        return RawKey(self.kid, self._private.public_key().public_bytes_raw(), self._private.private_bytes_raw())

    @property
    def public(self) -> SealingPublicKey:
        """The public part."""
        return SealingPublicKey(self.kid, self._private.public_key())

    @property
    def private_key(self) -> X25519PrivateKey:
        """The key as `cryptography` knows it."""
        return self._private


class SealingKeys:
    """A pool's X25519 private keys by id, oldest first; every one of them can open boxes."""

    __slots__ = ("_keys",)

    def __init__(self, *keys: SealingKey) -> None:
        self._keys = {key.kid: key for key in keys}

    def __repr__(self) -> str:
        return f"SealingKeys(kids={tuple(self._keys)!r})"

    @classmethod
    def from_file(cls, path: Path) -> Self:
        """Read every key of a private key file.

        Raises:
            KeyFileError: When the file can't be used, or others can read it.
        """
        return cls(*(SealingKey.from_raw(key, str(path)) for key in _read_private(path, "X25519")))

    def get(self, kid: str) -> SealingKey | None:
        """Return the key, or None for an unknown id."""
        return self._keys.get(kid)

    @property
    def newest(self) -> SealingKey:
        """The key that new boxes are sealed to."""
        return next(reversed(self._keys.values()))


def _read_private(path: Path, curve: Curve) -> tuple[RawKey, ...]:
    return parse_jwks(key_files.read_private(path), curve, private=True, source=str(path))


def _private_part(key: RawKey, source: str) -> bytes:
    if key.private is None:
        raise KeyFileError(f"{source}: key {key.kid} has no private part", reason="malformed")
    return key.private


def _check_halves(public: bytes, key: RawKey, source: str) -> None:
    if public != key.public:
        raise KeyFileError(f"{source}: key {key.kid}: `x` and `d` don't belong together", reason="malformed")
