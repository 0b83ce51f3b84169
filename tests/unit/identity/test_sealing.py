"""Sealing secrets to a pool's key."""

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey
from hypothesis import assume, given
from hypothesis import strategies as st

from toolmesh_identity.errors import SealError
from toolmesh_identity.keys import SealingKey, SealingKeys, SealingPublicKey
from toolmesh_identity.sealing import MAX_PLAINTEXT_BYTES, open_sealed, seal

KEY = SealingKey.generate()
KEYS = SealingKeys(KEY)
CONTEXT = b"pool default, invocation 0190-1"
BOX = seal(b"db-password", KEY.public, CONTEXT)


def refusal(box: str, keys: SealingKeys = KEYS, context: bytes = CONTEXT) -> SealError:
    with pytest.raises(SealError) as caught:
        open_sealed(box, keys, context)
    assert caught.value.code == "SEAL_INVALID"
    return caught.value


@given(st.binary(max_size=200), st.binary(max_size=50))
def test_a_sealed_secret_opens_again(plaintext: bytes, context: bytes) -> None:
    """Any bytes, any context."""
    assert open_sealed(seal(plaintext, KEY.public, context), KEYS, context) == plaintext


def test_a_box_hides_its_secret_and_differs_each_time() -> None:
    """Equal secrets don't show in equal boxes."""
    assert "password" not in BOX
    assert BOX.startswith(f"box1.{KEY.kid}.")
    assert seal(b"db-password", KEY.public, CONTEXT) != BOX


def test_the_largest_secret_fits_and_a_larger_one_is_refused() -> None:
    """The limits of seal and open agree."""
    largest = bytes(MAX_PLAINTEXT_BYTES)
    assert open_sealed(seal(largest, KEY.public, b""), KEYS, b"") == largest
    with pytest.raises(SealError) as caught:
        seal(largest + b"x", KEY.public, b"")
    assert caught.value.reason == "oversized"


def test_another_context_does_not_open_a_box() -> None:
    """A box copied into another call stays shut."""
    assert refusal(BOX, context=b"pool default, invocation 0190-2").reason == "bad_box"
    assert refusal(BOX, context=b"").reason == "bad_box"


def test_another_pool_does_not_open_a_box() -> None:
    """Other keys: the error names the kid that would be needed."""
    error = refusal(BOX, SealingKeys(SealingKey.generate()))
    assert error.reason == "unknown_kid"
    assert KEY.kid in error.message


def test_another_key_under_the_same_id_does_not_open_a_box() -> None:
    """The kid only selects; it opens nothing."""
    assert refusal(BOX, SealingKeys(SealingKey(KEY.kid, SealingKey.generate().private_key))).reason == "bad_box"


def test_a_rotated_pool_opens_old_and_new_boxes() -> None:
    """Boxes sealed before and after a rotation both open while the old key is kept."""
    newer = SealingKey.generate()
    keys = SealingKeys(KEY, newer)
    assert keys.newest is newer
    assert open_sealed(BOX, keys, CONTEXT) == b"db-password"
    assert open_sealed(seal(b"new", newer.public, CONTEXT), keys, CONTEXT) == b"new"


@given(st.integers(0, len(BOX) - 1), st.characters())
def test_no_mutated_box_opens(position: int, character: str) -> None:
    """Version, kid and ciphertext: any one character changed is refused."""
    mutated = BOX[:position] + character + BOX[position + 1 :]
    assume(mutated != BOX)
    refusal(mutated)


@given(st.text(max_size=300))
def test_no_text_crashes_the_opener(text: str) -> None:
    """Only typed errors come out."""
    refusal(text)


def test_truncated_and_oversized_boxes_are_refused() -> None:
    """No prefix opens, and a huge text is refused unread."""
    for length in range(len(BOX)):
        refusal(BOX[:length])
    assert refusal(f"box1.{KEY.kid}.").reason == "bad_box"
    assert refusal(f"box1.{KEY.kid}." + "A" * 10_000_000).reason == "malformed"


def test_sealing_to_a_degenerate_key_is_refused() -> None:
    """A public key that would give every reader the same secret is an error, not a box."""
    with pytest.raises(SealError) as caught:
        seal(b"secret", SealingPublicKey("zero", X25519PublicKey.from_public_bytes(bytes(32))), b"")
    assert caught.value.reason == "bad_key"
