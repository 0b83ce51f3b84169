"""Rotating and retiring keys."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from toolmesh_identity import rotation, sealing, tokens
from toolmesh_identity.claims import Claims
from toolmesh_identity.errors import KeyFileError, TokenInvalidError
from toolmesh_identity.jwk import MAX_KEYS, format_jwks
from toolmesh_identity.keys import SealingKeys, SealingPublicKey, SigningKey, VerifyingKeys

NOW = 1_800_000_000


def kids(path: Path) -> list[str]:
    return [key["kid"] for key in json.loads(path.read_bytes())["keys"]]


def minted(path: Path) -> str:
    claims = Claims.new("user-1", (), audience="lab", issuer="entrypoint", now=NOW)
    return tokens.mint(claims, SigningKey.from_file(path))


def check(token: str, keys: VerifyingKeys) -> Claims:
    return tokens.verify(token, keys, audience="lab", issuer="entrypoint", now=NOW)


def test_the_newest_key_signs_and_old_ones_verify(tmp_path: Path) -> None:
    """A token from before a rotation stays good until its key is retired."""
    path = tmp_path / "key"
    (first,) = rotation.create_or_load(path, "Ed25519")
    old = minted(path)
    second = rotation.rotate(path)
    new = minted(path)
    assert SigningKey.from_file(path).kid == second
    keys = VerifyingKeys.from_jwks(rotation.public_jwks(path))
    assert keys.kids == (first.kid, second)
    assert check(old, keys).subject == check(new, keys).subject == "user-1"
    rotation.retire(path, first.kid)
    keys = VerifyingKeys.from_jwks(rotation.public_jwks(path))
    assert check(new, keys).subject == "user-1"
    with pytest.raises(TokenInvalidError) as caught:
        check(old, keys)
    assert caught.value.reason == "unknown_kid"


def test_sealing_keys_rotate_the_same_way(tmp_path: Path) -> None:
    """The newest is sealed to, all open."""
    path = tmp_path / "key"
    rotation.create_or_load(path, "X25519")
    old = sealing.seal(b"1", SealingPublicKey.from_jwks(rotation.public_jwks(path, "X25519")), b"")
    kid = rotation.rotate(path, "X25519")
    public = SealingPublicKey.from_jwks(rotation.public_jwks(path, "X25519"))
    assert public.kid == kid
    keys = SealingKeys.from_file(path)
    assert sealing.open_sealed(old, keys, b"") == b"1"
    assert sealing.open_sealed(sealing.seal(b"2", public, b""), keys, b"") == b"2"


def test_the_public_document_holds_nothing_private(tmp_path: Path) -> None:
    """Only what may be handed around."""
    path = tmp_path / "key"
    rotation.create_or_load(path, "Ed25519")
    (key,) = json.loads(rotation.public_jwks(path))["keys"]
    assert set(key) == {"kty", "crv", "use", "kid", "x"}


def test_an_existing_file_is_loaded_not_replaced(tmp_path: Path) -> None:
    """A restart keeps the keys."""
    path = tmp_path / "key"
    assert rotation.create_or_load(path, "Ed25519") == rotation.create_or_load(path, "Ed25519")


def test_the_only_key_and_an_unknown_one_cannot_be_retired(tmp_path: Path) -> None:
    """The messages say what is there and what to do first."""
    path = tmp_path / "key"
    (only,) = rotation.create_or_load(path, "Ed25519")
    with pytest.raises(KeyFileError, match="rotate first") as last:
        rotation.retire(path, only.kid)
    assert last.value.reason == "last_key"
    with pytest.raises(KeyFileError, match=only.kid) as unknown:
        rotation.retire(path, "other")
    assert unknown.value.reason == "unknown_kid"
    assert kids(path) == [only.kid]


def test_a_full_file_takes_no_more_keys(tmp_path: Path) -> None:
    """It would be refused when read."""
    path = tmp_path / "key"
    path.write_bytes(format_jwks("Ed25519", [SigningKey.generate().raw() for _ in range(MAX_KEYS)]))
    path.chmod(0o600)
    with pytest.raises(KeyFileError) as caught:
        rotation.rotate(path)
    assert caught.value.reason == "full"


def test_rotations_in_several_processes_all_count(tmp_path: Path) -> None:
    """No process overwrites what another one added at the same time."""
    path = tmp_path / "key"
    rotation.create_or_load(path, "Ed25519")
    program = (
        "import sys, pathlib; from toolmesh_identity.rotation import rotate\n"
        "for _ in range(5): print(rotate(pathlib.Path(sys.argv[1])))"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    added = [kid for process in processes for kid in process.communicate(timeout=50)[0].split()]
    assert len(added) == 15
    assert sorted(kids(path)[1:]) == sorted(added)
