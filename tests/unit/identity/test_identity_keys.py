"""Keys and their JSON documents."""

import json
from pathlib import Path
from typing import Any

import pytest

from toolmesh_identity import base64url
from toolmesh_identity.errors import KeyFileError
from toolmesh_identity.jwk import RawKey, format_jwks, kid_of
from toolmesh_identity.keys import SealingKey, SealingKeys, SealingPublicKey, SigningKey, VerifyingKeys

# RFC 8037 appendix A.1 to A.4.
RFC_PRIVATE = base64url.decode("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A")
RFC_PUBLIC = base64url.decode("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo")
RFC_KID = "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"
RFC_INPUT = b"eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc"
RFC_SIGNATURE = "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"


def private_file(path: Path, *keys: SigningKey | SealingKey) -> Path:
    curve = "Ed25519" if isinstance(keys[0], SigningKey) else "X25519"
    path.write_bytes(format_jwks("Ed25519" if curve == "Ed25519" else "X25519", [key.raw() for key in keys]))
    path.chmod(0o600)
    return path


def test_the_example_of_the_standard_holds() -> None:
    """Kid, signature and verification are those of RFC 8037 appendix A."""
    key = SigningKey.from_raw(RawKey(kid_of("Ed25519", RFC_PUBLIC), RFC_PUBLIC, RFC_PRIVATE), "RFC 8037")
    assert key.kid == RFC_KID
    assert base64url.encode(key.sign(RFC_INPUT)) == RFC_SIGNATURE
    assert key.verifying.verify(RFC_KID, base64url.decode(RFC_SIGNATURE), RFC_INPUT)


def test_a_document_without_kid_gets_the_thumbprint() -> None:
    """A single JWK from elsewhere, as RFC 8037 prints it, is taken with its RFC 7638 thumbprint as id."""
    keys = VerifyingKeys.from_jwks({"kty": "OKP", "crv": "Ed25519", "x": base64url.encode(RFC_PUBLIC)})
    assert keys.kids == (RFC_KID,)


def test_verification_refuses_what_was_not_signed() -> None:
    """Another text, another id, a short signature: False, never a crash."""
    key = SigningKey.generate()
    signature = key.sign(b"data")
    assert key.verifying.verify(key.kid, signature, b"data")
    assert not key.verifying.verify(key.kid, signature, b"other")
    assert not key.verifying.verify("other", signature, b"data")
    assert not key.verifying.verify(key.kid, signature[:-1], b"data")


def test_a_file_gives_its_newest_key() -> None:
    """Of several keys the last in the file signs or is sealed to."""
    old, new = SealingKey.generate(), SealingKey.generate()
    document = json.loads(old.public.to_jwks())
    document["keys"] += json.loads(new.public.to_jwks())["keys"]
    assert SealingPublicKey.from_jwks(document).kid == new.kid


def test_key_files_give_the_keys_back(tmp_path: Path) -> None:
    """Every kind of file is read as it was written."""
    old, new = SigningKey.generate(), SigningKey.generate()
    assert SigningKey.from_file(private_file(tmp_path / "signing", old, new)).raw() == new.raw()
    first, second = SealingKey.generate(), SealingKey.generate()
    sealing = SealingKeys.from_file(private_file(tmp_path / "sealing", first, second))
    assert sealing.newest.raw() == second.raw()
    found = sealing.get(first.kid)
    assert found is not None
    assert found.raw() == first.raw()
    public = tmp_path / "public"
    public.write_bytes(second.public.to_jwks())
    assert SealingPublicKey.from_file(public).kid == second.kid
    public.write_bytes(old.verifying.joined(new.verifying).to_jwks())
    other = tmp_path / "other"
    other.write_bytes(SigningKey.generate().verifying.to_jwks())
    assert VerifyingKeys.from_file(public).kids == (old.kid, new.kid)
    assert len(VerifyingKeys.from_file(public, other)) == 3


def test_one_id_never_names_two_keys() -> None:
    """Two sets of keys that disagree about a kid can't be joined; agreeing ones can."""
    one = SigningKey.generate()
    impostor = json.loads(SigningKey.generate().verifying.to_jwks())
    impostor["keys"][0]["kid"] = one.kid
    with pytest.raises(KeyFileError) as caught:
        one.verifying.joined(VerifyingKeys.from_jwks(impostor))
    assert caught.value.reason == "duplicate_kid"
    assert len(one.verifying.joined(one.verifying)) == 1


def jwk(**changes: Any) -> dict[str, Any]:
    return {"kty": "OKP", "crv": "Ed25519", "use": "sig", "kid": "one", "x": base64url.encode(RFC_PUBLIC), **changes}


BAD_DOCUMENTS: list[tuple[object, str]] = [
    (b"", "malformed"),
    (b"[]", "malformed"),
    (b"\xff", "malformed"),
    (b"[" * 100_000, "malformed"),
    (b'{"keys": [], "keys": []}', "malformed"),
    ({"keys": []}, "malformed"),
    ({"keys": {}}, "malformed"),
    ({"keys": [7]}, "malformed"),
    ({"keys": [jwk(kid=f"k{n}") for n in range(257)]}, "malformed"),
    ({"keys": [jwk(), jwk()]}, "duplicate_kid"),
    (jwk(crv="X25519"), "wrong_curve"),
    (jwk(crv="Ed448"), "wrong_curve"),
    (jwk(crv="P-256"), "wrong_curve"),
    (jwk(kty="RSA"), "wrong_curve"),
    (jwk(kty="oct", k="c2VjcmV0"), "wrong_curve"),
    (jwk(use="enc"), "wrong_use"),
    (jwk(kid=""), "bad_kid"),
    (jwk(kid="../x"), "bad_kid"),
    (jwk(kid=7), "bad_kid"),
    (jwk(x=None), "malformed"),
    (jwk(x="AAAA"), "malformed"),
    (jwk(x="A" * 44), "malformed"),
    (jwk(x="*" * 43), "malformed"),
    (jwk(x=base64url.encode(RFC_PUBLIC) + "="), "malformed"),
    (jwk(x="é"), "malformed"),
    (jwk(d=base64url.encode(RFC_PRIVATE)), "private_key_exposed"),
]


@pytest.mark.parametrize(("document", "reason"), BAD_DOCUMENTS)
def test_a_bad_public_document_is_refused_with_its_source(document: Any, reason: str) -> None:
    """One bad key refuses the whole document, and the message says which file and key."""
    with pytest.raises(KeyFileError) as caught:
        VerifyingKeys.from_jwks(document, source="trust.json")
    assert (caught.value.code, caught.value.reason) == ("KEY_FILE_INVALID", reason)
    assert "trust.json" in caught.value.message
    assert base64url.encode(RFC_PRIVATE) not in caught.value.message


@pytest.mark.parametrize(
    ("kind", "curve"),
    [(SigningKey.from_file, "Ed25519"), (SealingKeys.from_file, "X25519")],
    ids=["signing", "sealing"],
)
def test_a_private_file_needs_both_halves_of_one_key(tmp_path: Path, kind: Any, curve: str) -> None:
    """A missing private part, or one of another key, is refused when read, not when used."""
    use = "sig" if curve == "Ed25519" else "enc"
    path = tmp_path / "key"
    for changes in ({}, {"d": "AAAA"}, {"d": base64url.encode(bytes(32))}):
        path.write_text(json.dumps(jwk(crv=curve, use=use, **changes)))
        path.chmod(0o600)
        with pytest.raises(KeyFileError) as caught:
            kind(path)
        assert caught.value.reason == "malformed"


def test_a_public_key_is_no_private_key() -> None:
    """A parsed public key can't become a signer."""
    with pytest.raises(KeyFileError, match="no private part"):
        SigningKey.from_raw(RawKey("one", RFC_PUBLIC), "test")


def test_nothing_secret_shows_in_a_repr() -> None:
    """Keys that land in a log line by accident show their ids only."""
    signing, sealing = SigningKey.generate(), SealingKey.generate()
    for key, shown in (
        (signing, f"SigningKey(kid={signing.kid!r})"),
        (sealing, f"SealingKey(kid={sealing.kid!r})"),
        (sealing.public, f"SealingPublicKey(kid={sealing.kid!r})"),
        (SealingKeys(sealing), f"SealingKeys(kids=({sealing.kid!r},))"),
        (signing.verifying, f"VerifyingKeys(kids=({signing.kid!r},))"),
    ):
        assert repr(key) == shown
        assert str(key) == shown
    private = signing.raw().private
    assert private is not None
    assert repr(private) not in repr(signing.raw())
    assert "private" not in repr(signing.raw())
