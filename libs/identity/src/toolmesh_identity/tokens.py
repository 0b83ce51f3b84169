"""Tokens: claims signed by an issuer, as JWS compact (RFC 7515) with EdDSA (RFC 8037) and nothing else."""

import json
from typing import Any, Final

from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwa import EdDSAAlgorithm
from joserfc.jwk import OKPKey

from toolmesh_identity import base64url, strict_json
from toolmesh_identity.claims import Claims
from toolmesh_identity.errors import TokenExpiredError, TokenInvalidError
from toolmesh_identity.jwk import is_kid
from toolmesh_identity.keys import SigningKey, VerifyingKeys

MAX_TOKEN_CHARS: Final = 16 * 1024
_MAX_PAYLOAD_BYTES: Final = 11 * 1024
DEFAULT_LEEWAY_S: Final = 30
MAX_LEEWAY_S: Final = 300
_ALGORITHM: Final = "EdDSA"
_TYPE: Final = "at+jwt"


class _Ed25519Only(EdDSAAlgorithm):
    # RFC 9864 deprecates the name EdDSA because it leaves the curve open; here every key is Ed25519.
    security_warning = ""


def _only_eddsa() -> jws.JWSRegistry:
    """Make a registry to which `none`, HMAC and RSA don't exist, whatever a header says."""
    registry = jws.JWSRegistry(algorithms=[_ALGORITHM])
    registry.algorithms = {_ALGORITHM: _Ed25519Only()}
    return registry


_REGISTRY: Final = _only_eddsa()


def mint(claims: Claims, key: SigningKey) -> str:
    """Sign claims.

    Raises:
        TokenInvalidError: When the token would be too large to be accepted.
    """
    header = {"alg": _ALGORITHM, "typ": _TYPE, "kid": key.kid}
    payload = json.dumps(claims.to_payload(), separators=(",", ":")).encode("ascii")
    if len(payload) > _MAX_PAYLOAD_BYTES:
        raise TokenInvalidError(
            f"claims take {len(payload)} bytes, at most {_MAX_PAYLOAD_BYTES} fit; give fewer scopes (wildcards)",
            reason="oversized",
        )
    return jws.serialize_compact(header, payload, OKPKey.import_key(key.private_key), registry=_REGISTRY)


def verify(
    token: str, keys: VerifyingKeys, *, audience: str, issuer: str, now: float, leeway_s: int = DEFAULT_LEEWAY_S
) -> Claims:
    """Return the claims of a token that `issuer` signed for `audience` and that is valid at `now`.

    Args:
        token: JWS compact serialization.
        keys: The issuer's public keys.
        audience: The namespace that `aud` must name.
        issuer: What `iss` must be.
        now: Unix seconds.
        leeway_s: Clock difference allowed between the machines, 0 to 300 seconds.

    Raises:
        TokenExpiredError: When its time is over.
        TokenInvalidError: When anything else is wrong with it; `reason` and the message say what.
        ValueError: When `leeway_s` is out of range.
    """
    if not 0 <= leeway_s <= MAX_LEEWAY_S:
        raise ValueError(f"leeway_s must be 0 to {MAX_LEEWAY_S}, not {leeway_s}")
    claims = Claims.from_payload(_authentic_payload(token, keys))
    if claims.issuer != issuer:
        raise TokenInvalidError(f"token is from issuer {claims.issuer!r}, not {issuer!r}", reason="wrong_issuer")
    if claims.audience != audience:
        raise TokenInvalidError(
            f"token is for namespace {claims.audience!r}, not {audience!r}", reason="wrong_audience"
        )
    _check_times(claims, now, leeway_s)
    return claims


def _check_times(claims: Claims, now: float, leeway_s: int) -> None:
    if max(claims.not_before, claims.issued_at) > now + leeway_s:
        early = int(max(claims.not_before, claims.issued_at) - now)
        raise TokenInvalidError(
            f"token is not valid for another {early} s; compare the clocks of issuer and verifier",
            reason="not_yet_valid",
        )
    if claims.expires_at <= now - leeway_s:
        raise TokenExpiredError(
            f"token expired {int(now - claims.expires_at)} s ago; sign in again or ask for a fresh one",
            reason="expired",
        )


def _authentic_payload(token: str, keys: VerifyingKeys) -> dict[str, Any]:
    if not 0 < len(token) <= MAX_TOKEN_CHARS:
        raise TokenInvalidError(f"token must have 1 to {MAX_TOKEN_CHARS} characters", reason="oversized")
    kid = _checked_header(token)
    public = keys.public_key(kid)
    if public is None:
        raise TokenInvalidError(f"token is signed with unknown key {kid}; is it rotated?", reason="unknown_kid")
    try:
        signed = jws.deserialize_compact(token, OKPKey.import_key(public), registry=_REGISTRY)
        return strict_json.parse_object(signed.payload)
    except (JoseError, ValueError) as error:
        raise TokenInvalidError("token is not authentic", reason="bad_signature") from error


def _checked_header(token: str) -> str:
    """Return the key id of a header that holds exactly what `mint` writes: no `crit`, `jwk`, `b64` or another `alg`."""
    head, _, _ = token.partition(".")
    try:
        header = strict_json.parse_object(base64url.decode(head))
    except ValueError as error:
        raise TokenInvalidError(f"token header can't be read: {error}", reason="malformed") from error
    if header.get("alg") != _ALGORITHM:
        raise TokenInvalidError(f"token must be signed with {_ALGORITHM}", reason="wrong_algorithm")
    if header.keys() != {"alg", "typ", "kid"} or header["typ"] != _TYPE:
        raise TokenInvalidError(f"token header must be alg, kid and typ {_TYPE}, nothing else", reason="malformed")
    kid = header["kid"]
    if not isinstance(kid, str) or not is_kid(kid):
        raise TokenInvalidError("token header kid is not a key id", reason="malformed")
    return kid
