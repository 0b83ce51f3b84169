"""What a caller's token says, read without verifying it: workers verify, the client only plans by it."""

import json

from toolmesh_client.errors import CallNotSignedInError
from toolmesh_identity import base64url
from toolmesh_identity.claims import Claims
from toolmesh_identity.errors import TokenInvalidError
from toolmesh_identity.tokens import MAX_TOKEN_CHARS

__all__ = ["read_claims"]

_PARTS = 3


def read_claims(token: str) -> Claims:
    """Return the claims of a token.

    Raises:
        CallNotSignedInError: this is no token; the message doesn't show it.
    """
    parts = token.split(".")
    if len(parts) != _PARTS or len(token) > MAX_TOKEN_CHARS:
        raise CallNotSignedInError(
            "the caller's token is not of the form header.claims.signature", hint="sign in again"
        )
    try:
        payload = json.loads(base64url.decode(parts[1]))
        if not isinstance(payload, dict):
            raise CallNotSignedInError("the caller's token holds no claims", hint="sign in again")
        return Claims.from_payload(payload)
    except TokenInvalidError as error:
        raise CallNotSignedInError(
            f"the caller's token can't be used: {error.message}", hint="sign in again"
        ) from error
    except (ValueError, RecursionError) as error:
        raise CallNotSignedInError("the caller's token can't be read", hint="sign in again") from error
