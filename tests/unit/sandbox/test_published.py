"""Published trees: complete, content-addressed, readable by all, and nothing of elsewhere in them."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from toolmesh_sandbox.errors import PublishError
from toolmesh_sandbox.published import PublishLimits, publish_tree


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "source/bin").mkdir(parents=True)
    (tmp_path / "source/bin/tool").write_text("#!/bin/sh\n")
    (tmp_path / "source/bin/tool").chmod(0o4700)
    (tmp_path / "source/data").write_text("data")
    (tmp_path / "source/data").chmod(0o600)
    (tmp_path / "source/link").symlink_to("bin/tool")
    return tmp_path / "source"


@pytest.fixture
def base(tmp_path: Path) -> Path:
    (tmp_path / "base").mkdir()
    return tmp_path / "base"


def test_a_copy_is_readable_by_all_and_lies_under_its_digest(source: Path, base: Path) -> None:
    """Execute bits stay, setuid goes, private modes are opened, links inside the tree stay links."""
    copy = publish_tree(source, base, "toolset")
    assert copy.parent == base / "published/toolset"
    assert len(copy.name) == 64
    modes = {path.relative_to(copy).as_posix(): path.lstat().st_mode & 0o7777 for path in copy.rglob("*")}
    assert modes["bin"] == 0o755
    assert modes["bin/tool"] == 0o755
    assert modes["data"] == 0o644
    assert (copy / "link").readlink() == Path("bin/tool")
    assert copy.stat().st_mode & 0o777 == 0o755


def test_the_digest_follows_content_names_modes_and_links_only(source: Path, base: Path) -> None:
    """Times and caches don't change it; everything that a tool could notice does."""
    first = publish_tree(source, base, "toolset")
    os.utime(source / "data", (1, 1))
    (source / "__pycache__").mkdir()
    (source / "__pycache__/x.pyc").write_text("x")
    assert publish_tree(source, base, "toolset") == first
    seen = {first}
    (source / "data").write_text("other")
    seen.add(publish_tree(source, base, "toolset"))
    (source / "data").chmod(0o700)
    seen.add(publish_tree(source, base, "toolset"))
    (source / "data").rename(source / "data2")
    seen.add(publish_tree(source, base, "toolset"))
    (source / "link").unlink()
    (source / "link").symlink_to("data2")
    seen.add(publish_tree(source, base, "toolset"))
    (source / "empty").mkdir()
    seen.add(publish_tree(source, base, "toolset"))
    assert len(seen) == 6
    assert not (first / "__pycache__").exists()


@pytest.mark.parametrize("target", ["/etc/passwd", "../outside", "bin/../../outside", "bin/up/outside"])
def test_a_link_that_leaves_the_tree_is_refused_by_name(source: Path, base: Path, target: str) -> None:
    """Absolute, relative, and through another link."""
    (source / "bin/up").symlink_to("..")
    (source.parent / "outside").write_text("secret")
    (source / "bad").symlink_to(target if target != "bin/up/outside" else "bin/up/../outside")
    with pytest.raises(PublishError, match=r"source/bad is a link to .* outside its tree"):
        publish_tree(source, base, "toolset")
    assert list((base / "published/toolset").iterdir()) == []


def test_special_files_are_refused_without_opening_them(source: Path, base: Path) -> None:
    """A FIFO would hang the reader."""
    os.mkfifo(source / "fifo")
    with pytest.raises(PublishError, match="fifo is neither"):
        publish_tree(source, base, "toolset")


def test_trees_beyond_the_limits_are_refused(source: Path, base: Path) -> None:
    """Entries, bytes and depth."""
    for limits in (PublishLimits(entries=3), PublishLimits(total_bytes=5)):
        with pytest.raises(PublishError, match="holds more than"):
            publish_tree(source, base, "toolset", limits)
    (source / "a/b/c/d").mkdir(parents=True)
    with pytest.raises(PublishError, match="folders deep"):
        publish_tree(source, base, "toolset", PublishLimits(depth=2))


def test_concurrent_publishes_agree_and_leave_no_staging(source: Path, base: Path) -> None:
    """Eight at once: one copy, the same path for all."""
    with ThreadPoolExecutor(8) as pool:
        paths = set(pool.map(lambda _: publish_tree(source, base, "toolset"), range(8)))
    assert len(paths) == 1
    assert list((base / "published/toolset").iterdir()) == list(paths)


def test_a_missing_source_and_a_bad_shelf_are_publish_errors(source: Path, base: Path) -> None:
    """The message names the path or the name."""
    with pytest.raises(PublishError, match="missing"):
        publish_tree(source / "missing", base, "toolset")
    with pytest.raises(PublishError, match="shelf"):
        publish_tree(source, base, "../x")
