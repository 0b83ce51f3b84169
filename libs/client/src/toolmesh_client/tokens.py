"""Where a client's tokens come from; a token is fetched again before it expires."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, TypeAlias

from toolmesh_client.errors import CallNotSignedInError
from toolmesh_client.token_claims import read_claims
from toolmesh_identity.development import DevelopmentIssuer
from toolmesh_identity.errors import IdentityError
from toolmesh_identity.tokens import MAX_TOKEN_CHARS

__all__ = ["RefreshingTokens", "TokenSource", "development_tokens", "environment_tokens", "file_tokens"]

TokenSource: TypeAlias = Callable[[], Awaitable[str]]
"""Gives a token that is valid now; asked again whenever the last one is about to expire."""

_MAX_FILE_BYTES: Final = 4 * MAX_TOKEN_CHARS


class RefreshingTokens:
    """Keeps a source's token until it has used up half of its life.

    A source that fails while the kept token is still valid is asked again at the next call.
    """

    def __init__(self, source: TokenSource) -> None:
        self._source = source
        self._token = ""
        self._refresh_at = 0.0
        self._expires_at = 0.0
        self._lock = asyncio.Lock()

    async def __call__(self) -> str:
        """Return a valid token.

        Raises:
            CallNotSignedInError: the source has none.
        """
        async with self._lock:
            now = time.time()
            if now < self._refresh_at:
                return self._token
            try:
                token = await self._source()
                claims = read_claims(token)
            except CallNotSignedInError:
                if now < self._expires_at:
                    return self._token
                raise
            self._token, self._expires_at = token, claims.expires_at
            # A call's deadline is never past its token's expiry, so what is left must do for long calls.
            self._refresh_at = (claims.issued_at + claims.expires_at) / 2
            return token


def file_tokens(path: Path) -> TokenSource:
    """Read the token from a file, which whoever signs people in keeps up to date."""

    async def read() -> str:
        try:
            with path.open("rb") as file:
                token = file.read(_MAX_FILE_BYTES).decode("ascii").strip()
        except OSError as error:
            raise CallNotSignedInError(
                f"token file {path} can't be read: {error.strerror}", hint="sign in, or write a token to it"
            ) from error
        except UnicodeDecodeError as error:
            raise CallNotSignedInError(f"token file {path} holds no token", hint="sign in again") from error
        if not token:
            raise CallNotSignedInError(f"token file {path} is empty", hint="sign in, or write a token to it")
        return token

    return read


def environment_tokens(variable: str = "TOOLMESH_TOKEN") -> TokenSource:
    """Read the token from an environment variable."""

    async def read() -> str:
        token = os.environ.get(variable, "").strip()
        if not token:
            raise CallNotSignedInError(f"the environment variable {variable} is not set", hint="put your token there")
        return token

    return read


def development_tokens(folder: Path, subject: str, scopes: tuple[str, ...], *, namespace: str) -> TokenSource:
    """Mint tokens with a development issuer's key, for one machine and one person."""

    async def mint() -> str:
        try:
            return DevelopmentIssuer(folder).token(subject, scopes, audience=namespace)
        except IdentityError as error:
            raise CallNotSignedInError(
                f"no token can be made: {error.message}",
                hint="`toolmesh up --tools FOLDER` makes the keys",
            ) from error

    return mint
