"""Keys and tokens for one machine: what `toolmesh up` uses until someone brings an issuer of their own."""

import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Self

from toolmesh_identity import key_files, rotation, tokens
from toolmesh_identity.claims import DEFAULT_TTL_S, Claims
from toolmesh_identity.errors import KeyFileError
from toolmesh_identity.jwk import Curve
from toolmesh_identity.keys import SealingKeys, SealingPublicKey, SigningKey, VerifyingKeys

ISSUER_NAME: Final = "toolmesh-development"
_POOL: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")


class DevelopmentIssuer:
    """A folder (0700) with an issuer's, an executor's and each pool's keys.

    A worker is given the files under `public` and its own pool's sealing file, never a signing key.

    Attributes:
        folder: Where the keys are.
        name: The `iss` of its tokens.
    """

    def __init__(self, folder: Path, name: str = ISSUER_NAME) -> None:
        self.folder = folder
        self.name = name

    @classmethod
    def create_or_load(cls, folder: Path, name: str = ISSUER_NAME) -> Self:
        """Make sure that the folder has both signing keys and their public files; safe in several processes at once.

        Raises:
            KeyFileError: When the folder or a key in it can't be used.
        """
        issuer = cls(folder, name)
        key_files.make_private_folder(folder)
        for part in (issuer._pools, issuer._public, issuer._public / "pools"):
            key_files.make_private_folder(part)
        issuer._prepare(issuer.issuer_key_file, "Ed25519", issuer.issuer_public_file)
        issuer._prepare(issuer.executor_key_file, "Ed25519", issuer.executor_public_file)
        return issuer

    @property
    def issuer_key_file(self) -> Path:
        """Private JWKS of the token issuer."""
        return self.folder / "issuer.private.json"

    @property
    def executor_key_file(self) -> Path:
        """Private JWKS of the executor that signs calls."""
        return self.folder / "executor.private.json"

    @property
    def issuer_public_file(self) -> Path:
        """Public JWKS that verifies tokens."""
        return self._public / "issuer.json"

    @property
    def executor_public_file(self) -> Path:
        """Public JWKS that verifies calls."""
        return self._public / "executor.json"

    def issuer_key(self) -> SigningKey:
        """Read the newest issuer key."""
        return SigningKey.from_file(self.issuer_key_file)

    def executor_key(self) -> SigningKey:
        """Read the newest executor key."""
        return SigningKey.from_file(self.executor_key_file)

    def issuer_public_keys(self) -> VerifyingKeys:
        """Read the keys that verify tokens."""
        return VerifyingKeys.from_file(self.issuer_public_file)

    def executor_public_keys(self) -> VerifyingKeys:
        """Read the keys that verify calls."""
        return VerifyingKeys.from_file(self.executor_public_file)

    def sealing_key_file(self, pool: str) -> Path:
        """Return the path of a pool's private sealing keys, created on the first request.

        Raises:
            KeyFileError: When `pool` can't be a file name, or the file can't be used.
        """
        return self._pool_files(pool)[0]

    def sealing_public_file(self, pool: str) -> Path:
        """Return the path of a pool's public sealing keys, created with the private ones.

        Raises:
            KeyFileError: When `pool` can't be a file name, or the file can't be used.
        """
        return self._pool_files(pool)[1]

    def sealing_keys(self, pool: str) -> SealingKeys:
        """Read a pool's private sealing keys."""
        return SealingKeys.from_file(self.sealing_key_file(pool))

    def sealing_public_key(self, pool: str) -> SealingPublicKey:
        """Read the key that secrets for a pool are sealed to."""
        return SealingPublicKey.from_file(self.sealing_public_file(pool))

    def token(
        self,
        subject: str,
        scopes: tuple[str, ...],
        *,
        audience: str,
        ttl_s: int = DEFAULT_TTL_S,
        task: str = "",
        agent: str = "",
        session: str = "",
        profile: Mapping[str, str] | None = None,
    ) -> str:
        """Mint a token for `subject` that is valid from now, for the namespace `audience`.

        Raises:
            TokenInvalidError: When a value can't be in a token.
            KeyFileError: When the issuer key can't be used.
        """
        claims = Claims.new(
            subject,
            scopes,
            audience=audience,
            issuer=self.name,
            now=time.time(),
            ttl_s=ttl_s,
            task=task,
            agent=agent,
            session=session,
            profile=profile,
        )
        return tokens.mint(claims, self.issuer_key())

    @property
    def _pools(self) -> Path:
        return self.folder / "pools"

    @property
    def _public(self) -> Path:
        return self.folder / "public"

    def _pool_files(self, pool: str) -> tuple[Path, Path]:
        if _POOL.fullmatch(pool) is None:
            raise KeyFileError(f"pool {pool!r} must be letters, digits, `_`, `-` and `.`", reason="bad_pool")
        private, public = self._pools / f"{pool}.private.json", self._public / "pools" / f"{pool}.json"
        self._prepare(private, "X25519", public)
        return private, public

    def _prepare(self, private: Path, curve: Curve, public: Path) -> None:
        """Create the private file if it is missing, and bring the public one up to date with it."""
        rotation.create_or_load(private, curve)
        # Under the lock: a slower process must not put back what was public before a rotation.
        with key_files.locked(private.parent):
            document = rotation.public_jwks(private, curve)
            if not public.exists() or key_files.read_public(public) != document:
                key_files.write_public(public, document)
