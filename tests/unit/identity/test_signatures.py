"""The executor's signature over a call."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from toolmesh_identity.errors import SignatureInvalidError
from toolmesh_identity.keys import SigningKey, VerifyingKeys
from toolmesh_identity.signatures import CallFields, CallSignature, sign_call, verify_call

KEY = SigningKey.generate()
KEYS = KEY.verifying
FIELDS: dict[str, Any] = {
    "invocation": "0190-1",
    "pool": "default",
    "tool": "get_forecast",
    "deadline_ms": 1_800_000_000_000,
    "required_scopes": ("tool:weather:read", "tool:maps:read"),
    "agent": "weather",
    "body": b'{"arguments": {"city": "Oslo"}}',
    "token": "header.payload.signature",
}
CALL = CallFields.of(**FIELDS)
SIGNATURE = sign_call(CALL, KEY)


def refusal(signature: str, call: CallFields = CALL, keys: VerifyingKeys = KEYS) -> SignatureInvalidError:
    with pytest.raises(SignatureInvalidError) as caught:
        verify_call(signature, call, keys)
    assert caught.value.code == "SIGNATURE_INVALID"
    return caught.value


def test_a_signed_call_verifies_and_names_its_key() -> None:
    """The verifier learns which executor key signed."""
    assert verify_call(SIGNATURE, CALL, KEYS) == KEY.kid
    assert verify_call(SIGNATURE, CallFields.of(**FIELDS), SigningKey.generate().verifying.joined(KEYS)) == KEY.kid


def test_a_signature_fits_into_a_header() -> None:
    """Short, one line of visible ASCII, with version and kid in front."""
    assert SIGNATURE.startswith(f"v1.{KEY.kid}.")
    assert len(SIGNATURE) < 200
    assert SIGNATURE.isascii()
    assert SIGNATURE.isprintable()
    assert str(CallSignature.parse(SIGNATURE)) == SIGNATURE


CHANGES: list[tuple[str, object, str]] = [
    ("invocation", "0190-2", "invocation"),
    ("pool", "other", "pool"),
    ("tool", "delete_forecast", "tool"),
    ("deadline_ms", FIELDS["deadline_ms"] + 1, "deadline_ms"),
    ("required_scopes", ("tool:maps:read", "tool:weather:read"), "required_scopes"),
    ("required_scopes", ("tool:weather:read",), "required_scopes"),
    ("required_scopes", (), "required_scopes"),
    ("required_scopes", ("tool:weather:readtool:maps:read",), "required_scopes"),
    ("agent", "", "agent"),
    ("agent", "other", "agent"),
    ("body", FIELDS["body"] + b" ", "body_sha256"),
    ("body", b"", "body_sha256"),
    ("token", "header.payload.other", "token_sha256"),
    ("token", "", "token_sha256"),
]


@pytest.mark.parametrize(("name", "value", "named"), CHANGES)
def test_every_changed_field_is_refused_by_name(name: str, value: object, named: str) -> None:
    """A recorded call can't be sent again as anything else, and the error says what differs."""
    error = refusal(SIGNATURE, CallFields.of(**{**FIELDS, name: value}))
    assert error.fields == (named,)
    assert error.reason == "field_differs"
    assert named in error.message


def test_every_difference_is_named_at_once() -> None:
    """Two changed fields are two names."""
    assert refusal(SIGNATURE, replace(CALL, pool="x", tool="y")).fields == ("pool", "tool")


TEXTS = st.text(max_size=20)
CALLS = st.builds(
    CallFields,
    invocation=TEXTS,
    pool=TEXTS,
    tool=TEXTS,
    deadline_ms=st.integers(0, 2**63 - 1),
    required_scopes=st.lists(TEXTS, max_size=4).map(tuple),
    agent=TEXTS,
    body_sha256=st.binary(min_size=32, max_size=32),
    token_sha256=st.binary(min_size=32, max_size=32),
)


@given(CALLS, CALLS, st.sampled_from(sorted(CallFields.__dataclass_fields__)))
def test_any_single_field_of_any_call_is_bound(call: CallFields, other: CallFields, name: str) -> None:
    """Whatever the values are, one changed field breaks the signature."""
    changed = replace(call, **{name: getattr(other, name)})
    assume(changed != call)
    signature = sign_call(call, KEY)
    assert verify_call(signature, call, KEYS) == KEY.kid
    refusal(signature, changed)


@given(st.integers(0, len(SIGNATURE) - 1), st.characters())
def test_no_mutated_signature_verifies(position: int, character: str) -> None:
    """Version, kid, marks and signature: any one character changed is refused."""
    mutated = SIGNATURE[:position] + character + SIGNATURE[position + 1 :]
    assume(mutated != SIGNATURE)
    refusal(mutated)


@given(st.text(max_size=300))
def test_no_text_crashes_the_verifier(text: str) -> None:
    """Only typed errors come out."""
    refusal(text)


def test_truncated_and_oversized_signatures_are_refused() -> None:
    """No prefix and no extension of a signature is one."""
    for length in range(len(SIGNATURE)):
        assert refusal(SIGNATURE[:length]).reason == "malformed"
    assert refusal(SIGNATURE + "A").reason == "malformed"
    assert refusal("v1." * 1000).reason == "malformed"


def test_an_unknown_key_is_refused() -> None:
    """A stranger's signature names the unknown kid."""
    stranger = SigningKey.generate()
    error = refusal(sign_call(CALL, stranger))
    assert error.reason == "unknown_kid"
    assert stranger.kid in error.message


def test_another_key_under_a_known_id_is_refused() -> None:
    """Naming a trusted kid doesn't help without its key."""
    thief = SigningKey.from_raw(replace(SigningKey.generate().raw(), kid=KEY.kid), "test")
    assert refusal(sign_call(CALL, thief)).reason == "bad_signature"


def test_the_kid_is_signed_too() -> None:
    """One key known under two ids: a signature can't be moved from one to the other."""
    document = json.loads(KEYS.to_jwks())
    document["keys"].append({**document["keys"][0], "kid": "alias"})
    keys = VerifyingKeys.from_jwks(document)
    assert verify_call(SIGNATURE, CALL, keys) == KEY.kid
    assert refusal(SIGNATURE.replace(KEY.kid, "alias"), keys=keys).reason == "bad_signature"


def test_a_signature_for_another_purpose_is_refused() -> None:
    """What the key signed without this purpose's prefix is no call signature."""
    parsed = CallSignature.parse(SIGNATURE)
    other = replace(parsed, signature=KEY.sign(b"toolmesh something else"))
    assert refusal(str(other)).reason == "bad_signature"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("deadline_ms", -1),
        ("deadline_ms", 2**63),
        ("body_sha256", b""),
        ("token_sha256", b"x" * 33),
        ("tool", "\ud800"),
        ("required_scopes", ("\udfff",)),
    ],
)
def test_a_field_that_cannot_be_signed_is_named(name: str, value: Any) -> None:
    """Signer and verifier refuse values without one encoding, without crashing."""
    changed = replace(CALL, **{name: value})
    with pytest.raises(SignatureInvalidError) as caught:
        sign_call(changed, KEY)
    assert caught.value.fields == (name,)
    assert refusal(SIGNATURE, changed).fields == (name,)


def test_a_token_that_is_no_unicode_is_still_hashed() -> None:
    """Hostile token text reaches the typed refusal, not an encoder's crash."""
    assert refusal(SIGNATURE, CallFields.of(**{**FIELDS, "token": "\ud800"})).fields == ("token_sha256",)
