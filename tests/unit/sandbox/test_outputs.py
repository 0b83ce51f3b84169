"""The collector takes ordinary files and survives everything else."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolmesh_sandbox.errors import OutputRefusedError, OutputTooLargeError
from toolmesh_sandbox.outputs import OutputLimits, collect, read_file
from toolmesh_sandbox.tree_removal import remove_tree


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "outputs").mkdir()
    return tmp_path / "outputs"


def taken(folder: Path, **limits: int) -> tuple[list[str], dict[str, str]]:
    """Names that were taken, and reasons of those that were not."""
    with collect(folder, OutputLimits(**limits)) as collected:
        return [file.name for file in collected.files], dict(collected.refused)


@pytest.fixture(autouse=True)
def no_descriptor_is_left() -> Iterator[None]:
    """Every descriptor that a collection opened is closed again."""
    before = len(list(Path("/proc/self/fd").iterdir()))
    yield
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_files_are_taken_in_order_with_their_relative_names(folder: Path) -> None:
    """Sub-folders become part of the name; content can be read more than once."""
    (folder / "sub").mkdir()
    (folder / "sub/b.txt").write_bytes(b"bb")
    (folder / "a.txt").write_bytes(b"a")
    with collect(folder) as collected:
        assert [(file.name, file.size) for file in collected.files] == [("a.txt", 1), ("sub/b.txt", 2)]
        assert collected.refused == ()
        for _ in range(2):
            with collected.files[1].open() as file:
                assert file.read() == b"bb"


def test_a_file_replaced_after_collecting_is_read_as_it_was(folder: Path) -> None:
    """The opened file counts, not the name."""
    (folder / "a").write_bytes(b"honest")
    with collect(folder) as collected:
        (folder / "a").unlink()
        (folder / "a").symlink_to("/etc/passwd")
        with collected.files[0].open() as file:
            assert file.read() == b"honest"


def test_links_and_special_files_are_refused_one_by_one(folder: Path) -> None:
    """File links, folder links, dangling links, FIFOs and sockets; the good file stays."""
    (folder / "good").write_text("x")
    (folder / "passwd").symlink_to("/etc/passwd")
    (folder / "root").symlink_to("/")
    (folder / "nothing").symlink_to("nowhere")
    os.mkfifo(folder / "fifo")
    listener = socket.socket(socket.AF_UNIX)
    here = Path.cwd()
    os.chdir(folder)
    try:
        listener.bind("socket")
    finally:
        os.chdir(here)
        listener.close()
    names, refused = taken(folder)
    assert names == ["good"]
    assert refused == dict.fromkeys(("passwd", "root", "nothing", "fifo", "socket"), "not a regular file")


@pytest.mark.skipif(os.getuid() != 0, reason="needs root to make a device")
def test_a_device_is_never_opened(folder: Path) -> None:
    """Opening one can have effects of its own."""
    os.mknod(folder / "zero", 0o020666, os.makedev(1, 5))
    assert taken(folder) == ([], {"zero": "not a regular file"})


def test_hard_links_are_refused(folder: Path, tmp_path: Path) -> None:
    """A second name may belong to a file that was not the tool's to give away."""
    (tmp_path / "theirs").write_text("x")
    (folder / "mine").hardlink_to(tmp_path / "theirs")
    names, refused = taken(folder)
    assert names == []
    assert "hard link" in refused["mine"]


def test_sparse_and_large_files_count_with_their_full_size(folder: Path) -> None:
    """A terabyte that takes no disk is still a terabyte to send."""
    with (folder / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    (folder / "small").write_bytes(b"x" * 10)
    names, refused = taken(folder, file_bytes=100)
    assert names == ["small"]
    assert "more than 100" in refused["sparse"]


def test_the_total_and_the_number_of_files_are_bounded(folder: Path) -> None:
    """What comes first by name is kept."""
    for name in "abcd":
        (folder / name).write_bytes(b"x" * 10)
    assert taken(folder, files=2) == (["a", "b"], dict.fromkeys("cd", "more than 2 files"))
    assert taken(folder, total_bytes=30) == (["a", "b", "c"], {"d": "more than 30 bytes in all"})


def test_deep_trees_end_at_the_depth_limit(folder: Path) -> None:
    """A thousand levels cost no more than the limit."""
    descriptor = os.open(folder, os.O_RDONLY)
    for _ in range(1000):
        os.mkdir("d", dir_fd=descriptor)
        deeper = os.open("d", os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = deeper
    os.close(descriptor)
    (folder / "d" / "near").write_text("x")
    names, refused = taken(folder, depth=2)
    assert names == ["d/near"]
    assert refused == {"d/d/d": "more than 2 folders deep"}
    assert remove_tree(folder)


def test_a_flood_of_entries_is_cut(folder: Path) -> None:
    """Only so many entries are looked at, and one line tells it."""
    for number in range(300):
        (folder / f"{number:03}").touch()
    names, refused = taken(folder, entries=50)
    assert len(names) == 50
    assert refused == {".": "more than 50 entries"}


def test_odd_names_are_refused_and_shown_harmlessly(folder: Path) -> None:
    """Bytes that are no UTF-8, control characters, over-long names; odd but harmless ones are taken."""
    for name in (b"\xff\xfe", b"esc\x1b[2J", b"new\nline", b"x" * 250, b"-rf", "größe €.txt".encode()):
        Path(os.fsdecode(bytes(folder) + b"/" + name)).touch()
    names, refused = taken(folder, name_bytes=200)
    assert names == ["-rf", "größe €.txt"]
    assert all(name.isprintable() for name in refused)
    assert sorted(refused.values()) == [
        "a name of more than 200 bytes",
        *["a name that is not printable UTF-8"] * 3,
    ]


def test_a_folder_that_is_gone_or_became_something_else_is_one_refusal(folder: Path) -> None:
    """No crash, and no link is followed."""
    folder.rmdir()
    assert "not a folder" in taken(folder)[1]["."]
    folder.symlink_to("/etc")
    assert taken(folder)[0] == []
    folder.unlink()
    folder.write_text("x")
    assert "not a folder" in taken(folder)[1]["."]


def test_a_folder_opened_before_is_collected_by_its_descriptor(folder: Path) -> None:
    """Whatever happened to the path since."""
    (folder / "a").write_text("x")
    descriptor = os.open(folder, os.O_RDONLY)
    folder.rename(folder.with_name("moved"))
    with collect(descriptor) as collected:
        assert [file.name for file in collected.files] == ["a"]
    assert read_file(descriptor, "a", 10) == b"x"
    os.close(descriptor)


def test_a_result_file_is_read_up_to_its_cap(folder: Path) -> None:
    """Exactly the cap is fine, one byte more is not."""
    (folder / "result.json").write_bytes(b"x" * 100)
    assert read_file(folder, "result.json", 100) == b"x" * 100
    with pytest.raises(OutputTooLargeError, match=r"result\.json is refused: 100 bytes, more than 99"):
        read_file(folder, "result.json", 99)


def test_a_result_that_is_no_ordinary_file_is_refused_without_waiting(folder: Path) -> None:
    """FIFO, link, folder, missing, and a name with a way out."""
    os.mkfifo(folder / "fifo")
    (folder / "link").symlink_to("/etc/passwd")
    (folder / "dir").mkdir()
    for name in ("fifo", "link", "dir", "missing", "../outputs/x", "", ".."):
        with pytest.raises(OutputRefusedError):
            read_file(folder, name, 100)
    with pytest.raises(OutputRefusedError):
        read_file(folder / "missing", "x", 100)
