"""Minting and verifying tokens."""

import base64
import hashlib
import hmac
import json
from dataclasses import replace
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from hypothesis import given
from hypothesis import strategies as st

from toolmesh_identity import tokens
from toolmesh_identity.claims import MAX_TTL_S, Claims
from toolmesh_identity.errors import TokenExpiredError, TokenInvalidError
from toolmesh_identity.keys import SigningKey, VerifyingKeys

NOW = 1_800_000_000
KEY = SigningKey.generate()
KEYS = KEY.verifying
CLAIMS = Claims.new(
    "user-1",
    ("tool:weather:read", "agent:*:invoke"),
    audience="lab",
    issuer="entrypoint",
    now=NOW,
    task="task-1",
    agent="forecaster",
    session="session-1",
    profile={"id": "user-1", "work_email": "one@example.org"},
)
TOKEN = tokens.mint(CLAIMS, KEY)
HEADER = {"alg": "EdDSA", "typ": "at+jwt", "kid": KEY.kid}


def b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def crafted(header: dict[str, Any] | str, payload: dict[str, Any] | str, key: SigningKey = KEY) -> str:
    """A token with a right signature over whatever is in it."""
    parts = [part if isinstance(part, str) else json.dumps(part) for part in (header, payload)]
    signed = ".".join(b64(part.encode()) for part in parts)
    return f"{signed}.{b64(key.sign(signed.encode()))}"


def verified(token: str, *, now: float = NOW, leeway_s: int = 30, keys: VerifyingKeys = KEYS) -> Claims:
    return tokens.verify(token, keys, audience="lab", issuer="entrypoint", now=now, leeway_s=leeway_s)


def refusal(token: str, **options: Any) -> TokenInvalidError:
    with pytest.raises(TokenInvalidError) as caught:
        verified(token, **options)
    return caught.value


def test_a_minted_token_gives_its_claims_back() -> None:
    """Every claim survives the trip, under the names the wire uses."""
    assert verified(TOKEN) == CLAIMS
    payload = json.loads(base64.urlsafe_b64decode(TOKEN.split(".")[1] + "=="))
    assert payload == {
        "iss": "entrypoint",
        "sub": "user-1",
        "aud": "lab",
        "scopes": ["tool:weather:read", "agent:*:invoke"],
        "task_id": "task-1",
        "agent": "forecaster",
        "session": "session-1",
        "profile": {"id": "user-1", "work_email": "one@example.org"},
        "iat": NOW,
        "nbf": NOW,
        "exp": NOW + 3600,
        "jti": CLAIMS.token_id,
    }


def test_unknown_claims_are_ignored() -> None:
    """A newer issuer may say more than we read."""
    assert verified(crafted(HEADER, {**CLAIMS.to_payload(), "new_claim": [1]})) == CLAIMS


def test_two_tokens_never_share_an_id() -> None:
    """The token id can serve to tell two tokens with equal claims apart."""
    again = Claims.new("user-1", (), audience="lab", issuer="entrypoint", now=NOW)
    assert CLAIMS.token_id != again.token_id


def test_a_token_expires_after_its_leeway() -> None:
    """The last valid second is exp plus leeway, exclusive."""
    assert verified(TOKEN, now=CLAIMS.expires_at + 29.9) == CLAIMS
    error = refusal(TOKEN, now=CLAIMS.expires_at + 30)
    assert isinstance(error, TokenExpiredError)
    assert (error.code, error.reason) == ("TOKEN_EXPIRED", "expired")
    assert "expired 30 s ago" in error.message


def test_a_token_from_the_future_is_refused() -> None:
    """Nbf and iat count from before the clock difference that is allowed."""
    assert verified(TOKEN, now=NOW - 30) == CLAIMS
    error = refusal(TOKEN, now=NOW - 31)
    assert error.reason == "not_yet_valid"
    assert "31 s" in error.message


def test_not_before_may_lie_after_issued_at() -> None:
    """A token minted ahead is valid from its nbf on only."""
    later = replace(CLAIMS, not_before=NOW + 600)
    assert refusal(tokens.mint(later, KEY)).reason == "not_yet_valid"
    assert verified(tokens.mint(later, KEY), now=NOW + 600) == later


@pytest.mark.parametrize("leeway_s", [-1, 301])
def test_leeway_is_bounded(leeway_s: int) -> None:
    """A deployment can't switch expiry off by a huge leeway."""
    with pytest.raises(ValueError, match="0 to 300"):
        verified(TOKEN, leeway_s=leeway_s)


@pytest.mark.requirement("identity:tokens")
def test_the_audience_must_be_this_namespace() -> None:
    """A token for one namespace opens nothing in another."""
    with pytest.raises(TokenInvalidError, match="'lab', not 'production'") as caught:
        tokens.verify(TOKEN, KEYS, audience="production", issuer="entrypoint", now=NOW)
    assert caught.value.reason == "wrong_audience"


def test_the_issuer_must_be_the_one_expected() -> None:
    """A key that also signs for another issuer doesn't make its tokens ours."""
    with pytest.raises(TokenInvalidError) as caught:
        tokens.verify(TOKEN, KEYS, audience="lab", issuer="elsewhere", now=NOW)
    assert caught.value.reason == "wrong_issuer"


@pytest.mark.parametrize("subject", ["", " ", "unknown", "Unknown", "None", "null", "undefined", "anonymous", "nan"])
def test_a_placeholder_subject_is_nobody(subject: str) -> None:
    """What broken sign-in code puts into sub is neither minted nor believed."""
    with pytest.raises(TokenInvalidError) as caught:
        replace(CLAIMS, subject=subject)
    assert caught.value.reason == "no_subject"
    assert refusal(crafted(HEADER, {**CLAIMS.to_payload(), "sub": subject})).reason == "no_subject"


def test_a_missing_subject_is_nobody() -> None:
    """Sub is not optional."""
    payload = {name: value for name, value in CLAIMS.to_payload().items() if name != "sub"}
    assert refusal(crafted(HEADER, payload)).reason == "no_subject"


BAD_CLAIMS: list[tuple[str, object]] = [
    ("sub", 7),
    ("sub", ["user-1"]),
    ("sub", "a\nb"),
    ("sub", "x" * 513),
    ("sub", "\ud800"),
    ("iss", None),
    ("aud", ["lab"]),
    ("aud", ""),
    ("jti", ""),
    ("task_id", 1),
    ("agent", None),
    ("session", {}),
    ("scopes", "tool:*:*"),
    ("scopes", None),
    ("scopes", [""]),
    ("scopes", [7]),
    ("scopes", ["a:b:c"] * 513),
    ("profile", []),
    ("profile", {"id": 7}),
    ("profile", {str(n): "" for n in range(33)}),
    ("exp", None),
    ("exp", True),
    ("exp", NOW + 60.5),
    ("exp", 10**18),
    ("exp", NOW),
    ("exp", NOW + MAX_TTL_S + 1),
    ("iat", "1"),
    ("iat", -1),
    ("nbf", NOW + 3600),
    ("nbf", None),
]


@pytest.mark.parametrize(("claim", "value"), BAD_CLAIMS)
def test_a_claim_of_the_wrong_kind_is_refused_by_name(claim: str, value: object) -> None:
    """A rightly signed token with a nonsensical claim gets an error, never a crash or a guess."""
    error = refusal(crafted(HEADER, {**CLAIMS.to_payload(), claim: value}))
    assert error.reason == "malformed"
    assert "token claim" in error.message


@pytest.mark.parametrize("ttl_s", [0, -5, MAX_TTL_S + 1])
def test_a_lifetime_is_one_second_to_one_day(ttl_s: int) -> None:
    """Nobody can mint a token that is dead at birth or lives longer than a day."""
    with pytest.raises(TokenInvalidError, match="exp"):
        Claims.new("user-1", (), audience="lab", issuer="entrypoint", now=NOW, ttl_s=ttl_s)


def test_claims_too_large_for_a_token_are_refused_when_minted() -> None:
    """The mint never makes a token that verify would refuse for its size."""
    largest = replace(CLAIMS, scopes=tuple(f"tool:{n:0100d}:read" for n in range(90)))
    assert verified(tokens.mint(largest, KEY)) == largest
    with pytest.raises(TokenInvalidError, match="fewer scopes") as caught:
        tokens.mint(replace(CLAIMS, scopes=tuple(f"tool:{n:0100d}:read" for n in range(200))), KEY)
    assert caught.value.reason == "oversized"


def test_claims_show_no_personal_data_in_a_repr() -> None:
    """What lands in a log line by accident holds no profile and no token id."""
    assert "one@example.org" not in repr(CLAIMS)
    assert CLAIMS.token_id not in repr(CLAIMS)


def test_an_unknown_key_is_refused() -> None:
    """A token that someone else's key signed proves nothing."""
    stranger = SigningKey.generate()
    error = refusal(crafted({**HEADER, "kid": stranger.kid}, CLAIMS.to_payload(), stranger))
    assert error.reason == "unknown_kid"


def test_another_key_under_a_known_id_is_refused() -> None:
    """Naming a trusted kid doesn't help without its key."""
    assert refusal(crafted(HEADER, CLAIMS.to_payload(), SigningKey.generate())).reason == "bad_signature"


@pytest.mark.parametrize(
    "kid", ["../../etc/passwd", "' OR '1'='1", "a\x00b", "https://evil.example/jwks", "", "x" * 129, 7, None, ["a"]]
)
def test_a_kid_is_an_id_and_nothing_else(kid: object) -> None:
    """A kid that could be a path, a query or a URL is refused before it is looked up."""
    assert refusal(crafted({**HEADER, "kid": kid}, CLAIMS.to_payload())).reason == "malformed"


@pytest.mark.parametrize("name", ["none", "None", "NONE", "HS256", "RS256", "ES256", "Ed448", "Ed25519", "", None])
@pytest.mark.requirement("identity:tokens")
def test_no_other_algorithm_is_accepted(name: object) -> None:
    """The header can't choose how it is verified, not even with a right EdDSA signature."""
    assert refusal(crafted({**HEADER, "alg": name}, CLAIMS.to_payload())).reason == "wrong_algorithm"


def test_an_unsigned_token_is_refused() -> None:
    """Alg none with an empty signature, and our own header with an empty signature."""
    body = b64(json.dumps(CLAIMS.to_payload()).encode())
    for header in ({"alg": "none", "typ": "at+jwt", "kid": KEY.kid}, {"alg": "none"}, HEADER):
        assert refusal(f"{b64(json.dumps(header).encode())}.{body}.").code == "TOKEN_INVALID"


def test_the_public_key_as_an_hmac_secret_is_refused() -> None:
    """The classic confusion: HS256 keyed with the bytes or the document of the public key."""
    public = KEYS.public_key(KEY.kid)
    assert public is not None
    for secret in (public.public_bytes_raw(), KEYS.to_jwks()):
        for alg in ("HS256", "EdDSA"):
            head = b64(json.dumps({**HEADER, "alg": alg}).encode())
            signed = f"{head}.{b64(json.dumps(CLAIMS.to_payload()).encode())}"
            mac = hmac.new(secret, signed.encode(), hashlib.sha256).digest()
            assert refusal(f"{signed}.{b64(mac)}").code == "TOKEN_INVALID"


def test_an_rsa_signature_is_refused() -> None:
    """A right RS256 signature by a key that the header even brings along means nothing here."""
    private = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    signed = ".".join(b64(json.dumps(part).encode()) for part in ({**HEADER, "alg": "RS256"}, CLAIMS.to_payload()))
    signature = private.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256())
    assert refusal(f"{signed}.{b64(signature)}").reason == "wrong_algorithm"


def test_extra_header_members_are_refused() -> None:
    """No crit, no embedded or linked key, no unencoded payload: even when rightly signed."""
    attacker = SigningKey.generate()
    own = json.loads(attacker.verifying.to_jwks())["keys"][0]
    extras: list[dict[str, Any]] = [
        {"crit": ["exp"], "exp": 1},
        {"crit": []},
        {"jwk": own},
        {"jku": "https://evil.example"},
        {"x5c": []},
        {"b64": False},
        {"cty": "JWT"},
    ]
    for extra in extras:
        assert refusal(crafted({**HEADER, **extra}, CLAIMS.to_payload())).reason == "malformed"
    assert refusal(crafted({**HEADER, "jwk": own}, CLAIMS.to_payload(), attacker)).reason == "malformed"


@pytest.mark.parametrize("kind", ["JWT", "jwt", "secevent+jwt", 7, None])
def test_another_type_of_token_is_refused(kind: object) -> None:
    """A token that the same issuer signed for another use is no access token (RFC 8725 section 3.11)."""
    assert refusal(crafted({**HEADER, "typ": kind}, CLAIMS.to_payload())).reason == "malformed"


def test_duplicated_keys_are_refused() -> None:
    """Two readers can't see two different subjects or algorithms in one token."""
    payload = json.dumps(CLAIMS.to_payload())
    twice = payload[:-1] + ', "sub": "admin"}'
    assert refusal(crafted(HEADER, twice)).reason == "bad_signature"
    nested = payload.replace('"profile": {', '"profile": {"id": "admin", ')
    assert nested != payload
    assert refusal(crafted(HEADER, nested)).code == "TOKEN_INVALID"
    assert refusal(crafted('{"alg":"none",' + json.dumps(HEADER)[1:], payload)).reason == "malformed"


@pytest.mark.parametrize(
    "payload", ["", "[]", "null", "7", "{", '{"exp": NaN}', '{"exp": 1e999}', "[" * 5000, '{"a":' * 1000, "\ufeff{}"]
)
def test_a_payload_that_is_no_object_is_refused(payload: str) -> None:
    """Signed rubbish stays rubbish."""
    assert refusal(crafted(HEADER, payload)).code == "TOKEN_INVALID"


def test_a_payload_in_another_charset_is_refused() -> None:
    """Invalid UTF-8 below a right signature."""
    signed = f"{b64(json.dumps(HEADER).encode())}.{b64(bytes([0xFF, 0xFE]))}"
    assert refusal(f"{signed}.{b64(KEY.sign(signed.encode()))}").reason == "bad_signature"


@pytest.mark.parametrize(
    "token",
    [
        "",
        ".",
        "..",
        "...",
        "a.b.c",
        "é.é.é",
        "\ud800",
        "x" * 20_000,
        TOKEN + ".x",
        TOKEN + "=",
        " " + TOKEN,
        TOKEN + "\n",
    ],
)
def test_what_is_no_token_is_refused(token: str) -> None:
    """Empty, foreign, oversized or surrounded by something."""
    assert refusal(token).code == "TOKEN_INVALID"


def test_every_truncation_is_refused() -> None:
    """No prefix of a token is a token."""
    for length in range(len(TOKEN)):
        assert refusal(TOKEN[:length]).code == "TOKEN_INVALID"


@given(st.integers(0, len(TOKEN) - 1), st.characters())
@pytest.mark.requirement("identity:tokens")
def test_no_mutated_token_verifies(position: int, character: str) -> None:
    """Any one character changed: refused."""
    mutated = TOKEN[:position] + character + TOKEN[position + 1 :]
    if mutated != TOKEN:
        assert refusal(mutated).code == "TOKEN_INVALID"


@given(st.text(max_size=300))
def test_no_text_crashes_the_verifier(text: str) -> None:
    """Only typed errors come out."""
    assert refusal(text).code == "TOKEN_INVALID"


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda c: st.lists(c) | st.dictionaries(st.text(), c),
        max_leaves=8,
    )
)
def test_no_signed_claim_value_crashes_the_verifier(value: object) -> None:
    """Every claim can hold any JSON value and the outcome is claims or a typed error."""
    for claim in CLAIMS.to_payload():
        token = crafted(HEADER, {**CLAIMS.to_payload(), claim: value})
        try:
            verified(token)
        except TokenInvalidError as error:
            assert error.message  # noqa: PT017 - both outcomes are right
