"""Key files on disk."""

import os
import stat
from pathlib import Path

import pytest

from toolmesh_identity import key_files
from toolmesh_identity.errors import KeyFileError


def private(path: Path, data: bytes = b"{}", mode: int = 0o600) -> Path:
    path.write_bytes(data)
    path.chmod(mode)
    return path


def refusal(path: Path, reader: str = "private") -> KeyFileError:
    with pytest.raises(KeyFileError) as caught:
        (key_files.read_private if reader == "private" else key_files.read_public)(path)
    assert str(path) in caught.value.message
    return caught.value


def test_a_private_file_is_read(tmp_path: Path) -> None:
    """Mode 0600 and stricter."""
    assert key_files.read_private(private(tmp_path / "key", b"data")) == b"data"
    assert key_files.read_private(private(tmp_path / "key", b"data", 0o400)) == b"data"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o610, 0o601, 0o620, 0o602, 0o660, 0o777])
def test_a_private_file_that_others_can_open_is_refused(tmp_path: Path, mode: int) -> None:
    """The message gives the command that cures it, and following it does."""
    path = private(tmp_path / "key", mode=mode)
    error = refusal(path)
    assert error.reason == "open_mode"
    assert f"chmod 600 {path}" in error.message
    path.chmod(0o600)
    assert key_files.read_private(path) == b"{}"


@pytest.mark.parametrize("mode", [0o664, 0o646, 0o666])
def test_a_public_file_that_others_can_write_is_refused(tmp_path: Path, mode: int) -> None:
    """Who can write it could add a key of their own."""
    path = private(tmp_path / "trust", mode=mode)
    error = refusal(path, "public")
    assert error.reason == "open_mode"
    assert f"chmod go-w {path}" in error.message
    path.chmod(0o644)
    assert key_files.read_public(path) == b"{}"


def test_a_private_file_behind_a_symbolic_link_is_refused(tmp_path: Path) -> None:
    """Also a dangling one, and also where a new file would be made."""
    target = private(tmp_path / "target")
    link = tmp_path / "link"
    link.symlink_to(target)
    assert refusal(link).reason == "symlink"
    assert key_files.read_public(link) == b"{}"
    link.unlink()
    link.symlink_to(tmp_path / "nothing")
    assert refusal(link).reason == "symlink"
    with pytest.raises(KeyFileError) as caught:
        key_files.create_or_read(link, lambda: b"new")
    assert caught.value.reason == "symlink"
    assert not (tmp_path / "nothing").exists()


def test_what_is_no_regular_file_is_refused_without_waiting(tmp_path: Path) -> None:
    """A folder and a named pipe that nobody writes to."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe, 0o600)
    assert refusal(pipe).reason == "not_a_file"
    assert refusal(tmp_path).reason == "not_a_file"
    assert refusal(tmp_path, "public").reason == "not_a_file"


def test_a_missing_file_has_a_reason_of_its_own(tmp_path: Path) -> None:
    """So that a caller can tell missing from wrong."""
    assert refusal(tmp_path / "key").reason == "not_found"
    assert refusal(tmp_path / "no" / "folder" / "key", "public").reason == "not_found"


def test_a_path_through_a_file_is_refused(tmp_path: Path) -> None:
    """Any other failure of the system is a typed error, too."""
    assert refusal(private(tmp_path / "file") / "key").reason == "unreadable"


def test_an_oversized_file_is_refused(tmp_path: Path) -> None:
    """It isn't read into memory as a whole."""
    largest = private(tmp_path / "key", b"x" * key_files.MAX_FILE_BYTES)
    assert len(key_files.read_private(largest)) == key_files.MAX_FILE_BYTES
    assert refusal(private(largest, b"x" * (key_files.MAX_FILE_BYTES + 1))).reason == "oversized"


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
def test_files_are_written_whole_with_their_own_mode(tmp_path: Path, umask: int) -> None:
    """Whatever the umask is; and no draft stays behind."""
    before = os.umask(umask)
    try:
        key_files.create(tmp_path / "new", b"one")
        key_files.replace_private(tmp_path / "replaced", b"two")
        key_files.write_public(tmp_path / "public", b"three")
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert modes == {"new": 0o600, "replaced": 0o600, "public": 0o644}
    assert key_files.read_private(tmp_path / "new") == b"one"
    assert key_files.read_public(tmp_path / "public") == b"three"


def test_a_new_file_never_replaces_another(tmp_path: Path) -> None:
    """The first one's key stays, and the loser's draft goes."""
    path = private(tmp_path / "key", b"first")
    with pytest.raises(FileExistsError):
        key_files.create(path, b"second")
    assert path.read_bytes() == b"first"
    assert list(tmp_path.iterdir()) == [path]


def test_a_lost_race_gives_the_winners_key(tmp_path: Path) -> None:
    """Another process creates the file between our look and our write."""
    path = tmp_path / "key"

    def slow() -> bytes:
        key_files.create(path, b"winner")
        return b"loser"

    assert key_files.create_or_read(path, slow) == b"winner"
    assert key_files.create_or_read(path, lambda: b"never made") == b"winner"


def test_a_file_that_cannot_be_written_is_a_typed_error(tmp_path: Path) -> None:
    """A missing folder, named in the message."""
    for write in (key_files.create, key_files.replace_private, key_files.write_public):
        with pytest.raises(KeyFileError) as caught:
            write(tmp_path / "gone" / "key", b"")
        assert caught.value.reason == "unwritable"
        assert "gone" in caught.value.message


def test_a_private_folder_is_made_for_its_owner_only(tmp_path: Path) -> None:
    """Folders above it get usual rights; a second time is fine."""
    folder = tmp_path / "above" / "keys"
    key_files.make_private_folder(folder)
    key_files.make_private_folder(folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_folder_open_to_others_is_refused(tmp_path: Path) -> None:
    """With the command that cures it."""
    folder = tmp_path / "keys"
    folder.mkdir(0o755)
    folder.chmod(0o755)
    with pytest.raises(KeyFileError, match=f"chmod 700 {folder}"):
        key_files.make_private_folder(folder)


def test_a_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    """A file, a link to a folder, a path through a file."""
    file = private(tmp_path / "file")
    link = tmp_path / "link"
    link.symlink_to(tmp_path)
    for path in (file, link, file / "below"):
        with pytest.raises(KeyFileError, match=str(path)):
            key_files.make_private_folder(path)


def test_a_lock_needs_a_folder(tmp_path: Path) -> None:
    """A missing folder is a typed error."""
    with pytest.raises(KeyFileError) as caught, key_files.locked(tmp_path / "gone"):
        raise AssertionError
    assert caught.value.reason == "unreadable"
