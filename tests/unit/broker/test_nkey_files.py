"""Seed files: made once, private, and never shown."""

import os
import threading
from pathlib import Path

import nkeys  # type: ignore[import-untyped]
import pytest

from toolmesh_broker.credentials import CredentialsError, NkeyPair, load_or_create_nkey, read_nkey


def test_a_seed_file_is_made_once_and_private(tmp_path: Path) -> None:
    """A second call reads what the first one wrote; only the owner can."""
    path = tmp_path / "one.nk"
    first = load_or_create_nkey(path)
    assert load_or_create_nkey(path) == first
    assert path.stat().st_mode & 0o777 == 0o600
    assert first.public.startswith("U")
    assert [file.name for file in tmp_path.iterdir()] == ["one.nk"]


def test_a_pair_signs_as_nats_expects() -> None:
    """The public key that goes into the server's configuration verifies what the seed signs."""
    pair = NkeyPair.generate()
    signer = nkeys.from_seed(bytearray(pair.seed))
    assert signer.verify(b"nonce", signer.sign(b"nonce"))
    assert pair.public == signer.public_key.decode()
    assert NkeyPair.generate() != pair


def test_a_secret_is_not_in_the_repr() -> None:
    """Logging a pair by mistake shows the public key only."""
    pair = NkeyPair.generate()
    assert pair.seed.decode() not in repr(pair)
    assert pair.public in repr(pair)


def test_racing_starts_agree_on_one_key(tmp_path: Path) -> None:
    """Of many that create the same file at once, all use the one that was first."""
    path = tmp_path / "raced.nk"
    barrier = threading.Barrier(8)
    seen: list[str] = []

    def start() -> None:
        barrier.wait(10)
        seen.append(load_or_create_nkey(path).public)

    threads = [threading.Thread(target=start) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(seen) == 8
    assert set(seen) == {read_nkey(path).public}


def test_a_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    """The message names the file, its mode and the command that closes it."""
    path = tmp_path / "open.nk"
    load_or_create_nkey(path)
    path.chmod(0o640)
    with pytest.raises(CredentialsError, match=r"open\.nk is open to other users \(mode 0640\)") as caught:
        read_nkey(path)
    assert caught.value.hint == f"run: chmod 600 {path}"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"SU",
        b"not a seed at all",
        b"SUAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA!",
        b"\xff\xfe" * 40,
    ],
)
def test_a_damaged_file_is_named_without_its_content(tmp_path: Path, content: bytes) -> None:
    """Whatever lies in the file, the error is typed and quotes nothing of it."""
    path = tmp_path / "bad.nk"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(CredentialsError, match=r"bad\.nk holds no nkey seed") as caught:
        read_nkey(path)
    if content:
        assert content.decode(errors="replace") not in str(caught.value)


def test_a_seed_of_another_kind_is_refused(tmp_path: Path) -> None:
    """An account's or operator's seed in a user's place is a mistake worth telling."""
    path = tmp_path / "account.nk"
    path.write_bytes(nkeys.encode_seed(os.urandom(32), nkeys.PREFIX_BYTE_ACCOUNT))
    path.chmod(0o600)
    with pytest.raises(CredentialsError, match="not a user's"):
        read_nkey(path)


def test_a_missing_file_and_a_missing_folder_are_named(tmp_path: Path) -> None:
    """Reading says what is not there, creating says where it can't be made."""
    with pytest.raises(CredentialsError, match=r"can't read nkey seed file .*absent"):
        read_nkey(tmp_path / "absent")
    with pytest.raises(CredentialsError, match=r"can't create nkey seed file .*folder/absent"):
        load_or_create_nkey(tmp_path / "folder" / "absent")
