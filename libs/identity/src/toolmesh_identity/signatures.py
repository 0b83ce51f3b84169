"""The executor's signature over one call: what lies in a queue is worthless for any other call.

Format, version 1, 4 parts joined by dots, safe in a header: `v1`, kid, marks, signature. The signature covers every
field in full. The marks are the first bytes of each field's own hash; they only serve to name what differs.
"""

import hashlib
import hmac
from dataclasses import dataclass, fields
from typing import Final, Self

from toolmesh_identity import base64url
from toolmesh_identity.errors import SignatureInvalidError
from toolmesh_identity.jwk import is_kid
from toolmesh_identity.keys import SigningKey, VerifyingKeys

MAX_SIGNATURE_CHARS: Final = 512
_VERSION: Final = "v1"
_DOMAIN: Final = b"toolmesh call signature v1\x00"
_MARK_BYTES: Final = 4
_SIGNATURE_BYTES: Final = 64


@dataclass(frozen=True, kw_only=True)
class CallFields:
    """What a signature binds together.

    Attributes:
        invocation: Invocation id.
        pool: The pool of workers that may run it.
        tool: The tool's name on the worker.
        deadline_ms: Unix milliseconds after which nobody may run it.
        required_scopes: The scopes the caller must hold, in order.
        agent: The agent for which the call is made; empty without one.
        body_sha256: SHA-256 of the message body, 32 bytes.
        token_sha256: SHA-256 of the caller's token, 32 bytes.
    """

    invocation: str
    pool: str
    tool: str
    deadline_ms: int
    required_scopes: tuple[str, ...]
    agent: str
    body_sha256: bytes
    token_sha256: bytes

    @classmethod
    def of(
        cls,
        *,
        invocation: str,
        pool: str,
        tool: str,
        deadline_ms: int,
        required_scopes: tuple[str, ...],
        agent: str,
        body: bytes,
        token: str,
    ) -> Self:
        """Hash the message body and the caller's token as they travel."""
        return cls(
            invocation=invocation,
            pool=pool,
            tool=tool,
            deadline_ms=deadline_ms,
            required_scopes=required_scopes,
            agent=agent,
            body_sha256=hashlib.sha256(body).digest(),
            token_sha256=token_digest(token),
        )


def token_digest(token: str) -> bytes:
    """Return a token's SHA-256, as signatures hold it."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


@dataclass(frozen=True)
class CallSignature:
    """A signature taken apart, not yet verified.

    Attributes:
        kid: Id of the key that is said to have signed.
        marks: The first bytes of each field's hash.
        signature: Ed25519 signature.
    """

    kid: str
    marks: bytes
    signature: bytes

    def __str__(self) -> str:
        return ".".join((_VERSION, self.kid, base64url.encode(self.marks), base64url.encode(self.signature)))

    @classmethod
    def parse(cls, text: str) -> Self:
        """Take a signature apart.

        Raises:
            SignatureInvalidError: When it isn't one of this version.
        """
        parts = text.split(".") if len(text) <= MAX_SIGNATURE_CHARS else []
        if len(parts) != 4 or parts[0] != _VERSION or not is_kid(parts[1]):
            raise SignatureInvalidError(f"call signature is not of the form {_VERSION}.kid.…", reason="malformed")
        try:
            marks, signature = base64url.decode(parts[2]), base64url.decode(parts[3])
        except ValueError as error:
            raise SignatureInvalidError(f"call signature can't be read: {error}", reason="malformed") from error
        if len(marks) != _MARK_BYTES * len(fields(CallFields)) or len(signature) != _SIGNATURE_BYTES:
            raise SignatureInvalidError("call signature has the wrong length", reason="malformed")
        return cls(parts[1], marks, signature)


def sign_call(call: CallFields, key: SigningKey) -> str:
    """Sign a call; the result is ASCII and can be a header value.

    Raises:
        SignatureInvalidError: When a field can't be signed, such as a negative deadline.
    """
    encoded = _encode(call)
    return str(CallSignature(key.kid, _marks(encoded), key.sign(_signed_bytes(key.kid, encoded))))


def verify_call(signature: str, call: CallFields, keys: VerifyingKeys) -> str:
    """Check that this very call was signed with one of `keys`, and return that key's kid.

    Raises:
        SignatureInvalidError: When it wasn't. `fields` names what differs from the signed call, if it can be told
            (which proves nothing about who signed).
    """
    parsed = CallSignature.parse(signature)
    encoded = _encode(call)
    if keys.public_key(parsed.kid) is None:
        raise SignatureInvalidError(f"call is signed with unknown key {parsed.kid}", reason="unknown_kid")
    marks = _marks(encoded)
    if not hmac.compare_digest(marks, parsed.marks):
        different = tuple(
            name
            for n, name in enumerate(encoded)
            if marks[n * _MARK_BYTES :][:_MARK_BYTES] != parsed.marks[n * _MARK_BYTES :][:_MARK_BYTES]
        )
        raise SignatureInvalidError(
            f"call differs from the signed one in: {', '.join(different)}", reason="field_differs", fields=different
        )
    if not keys.verify(parsed.kid, parsed.signature, _signed_bytes(parsed.kid, encoded)):
        raise SignatureInvalidError(f"call is not signed by {parsed.kid}", reason="bad_signature")
    return parsed.kid


def _encode(call: CallFields) -> dict[str, bytes]:
    """Encode each field so that no two values of a field, and no two lists of fields, look the same."""
    if not 0 <= call.deadline_ms < 2**63:
        raise _unsignable("deadline_ms", "must be Unix milliseconds")
    for name in ("body_sha256", "token_sha256"):
        if len(getattr(call, name)) != hashlib.sha256().digest_size:
            raise _unsignable(name, "must be 32 bytes")
    return {
        "invocation": _text("invocation", call.invocation),
        "pool": _text("pool", call.pool),
        "tool": _text("tool", call.tool),
        "deadline_ms": call.deadline_ms.to_bytes(8, "big"),
        "required_scopes": b"".join(_sized(_text("required_scopes", scope)) for scope in call.required_scopes),
        "agent": _text("agent", call.agent),
        "body_sha256": call.body_sha256,
        "token_sha256": call.token_sha256,
    }


def _signed_bytes(kid: str, encoded: dict[str, bytes]) -> bytes:
    return _DOMAIN + b"".join(_sized(part) for part in (kid.encode("ascii"), *encoded.values()))


def _marks(encoded: dict[str, bytes]) -> bytes:
    return b"".join(
        hashlib.sha256(_DOMAIN + name.encode("ascii") + b"\x00" + part).digest()[:_MARK_BYTES]
        for name, part in encoded.items()
    )


def _sized(part: bytes) -> bytes:
    return len(part).to_bytes(8, "big") + part


def _text(name: str, value: str) -> bytes:
    try:
        return value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise _unsignable(name, "must be valid Unicode") from error


def _unsignable(name: str, problem: str) -> SignatureInvalidError:
    return SignatureInvalidError(f"call field {name} {problem}", reason="malformed", fields=(name,))
